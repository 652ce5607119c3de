package a2a

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
)

// MaxTasks is how many tasks are known, whose texts are kept. A new one takes the place of the oldest that has ended; while
// all run, none is taken.
const MaxTasks = 500

// tasks are the newest ones, by their IDs.
type tasks struct {
	mu    sync.Mutex
	known map[a2a.TaskID]*task
	order []*task
}

func (s *tasks) get(id a2a.TaskID) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[id]
}

// add makes a task known, in place of one with its ID; false means that there is no room.
func (s *tasks) add(t *task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(s.order) && len(s.order) >= MaxTasks; i++ {
		if now, _ := s.order[i].look(0); now.ended() {
			delete(s.known, s.order[i].id)
			s.order = append(s.order[:i], s.order[i+1:]...)
			i--
		}
	}
	if len(s.order) >= MaxTasks {
		return false
	}
	if old := s.known[t.id]; old != nil {
		for i := range s.order {
			if s.order[i] == old {
				s.order = append(s.order[:i], s.order[i+1:]...)
				break
			}
		}
	}
	s.known[t.id], s.order = t, append(s.order, t)
	return true
}

// task is the turn of a message.
type task struct {
	id       a2a.TaskID
	context  string
	session  session.Key
	artifact a2a.ArtifactID

	cancel    context.CancelFunc
	cancelled atomic.Bool
	over      chan struct{} // closed when its turn has ended

	mu      sync.Mutex // guards what follows
	state   a2a.TaskState
	at      time.Time
	says    string // beside the state: what is asked, or why it failed
	text    strings.Builder
	gap     bool          // calls ran since the last text
	changed chan struct{} // closed at the next change
}

func newTask(id a2a.TaskID, contextID string, key session.Key) *task {
	return &task{
		id: id, context: contextID, session: key, artifact: a2a.NewArtifactID(), state: a2a.TaskStateWorking,
		at: time.Now(), over: make(chan struct{}), changed: make(chan struct{}),
	}
}

// TaskInfo implements [a2a.TaskInfoProvider].
func (t *task) TaskInfo() a2a.TaskInfo { return a2a.TaskInfo{TaskID: t.id, ContextID: t.context} }

// view is a task at one moment, with its text from an offset on.
type view struct {
	state      a2a.TaskState
	at         time.Time
	says, text string
}

func (v view) ended() bool { return v.state != a2a.TaskStateWorking }

// look returns a task as it is now, and what is closed when it changes.
func (t *task) look(from int) (view, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return view{t.state, t.at, t.says, t.text.String()[from:]}, t.changed
}

// change changes a task and tells those who follow it.
func (t *task) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *task) say(text string) {
	t.change(func() { t.add(text) })
}

// add adds to the text. The caller holds the lock.
func (t *task) add(text string) {
	if t.gap && t.text.Len() > 0 {
		t.text.WriteString("\n\n")
	}
	t.gap = false
	t.text.WriteString(text)
}

func (t *task) end(state a2a.TaskState, says string) {
	t.change(func() { t.state, t.says, t.at = state, says, time.Now() })
}

// status is the state of a task as an event.
func (v view) status(t *task) *a2a.TaskStatusUpdateEvent {
	e := a2a.NewStatusUpdateEvent(t, v.state, v.message(t))
	e.Status.Timestamp, e.Final = &v.at, v.ended()
	return e
}

func (v view) message(t *task) *a2a.Message {
	if v.says == "" {
		return nil
	}
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.TextPart{Text: v.says})
}

// task is the whole task.
func (v view) task(t *task) *a2a.Task {
	out := &a2a.Task{
		ID: t.id, ContextID: t.context,
		Status: a2a.TaskStatus{State: v.state, Message: v.message(t), Timestamp: &v.at},
	}
	if v.ended() && v.text != "" {
		out.Artifacts = []*a2a.Artifact{{ID: t.artifact, Parts: a2a.ContentParts{a2a.TextPart{Text: v.text}}}}
	}
	return out
}

// run runs the turn of a task's message.
func (s *Server) run(ctx context.Context, t *task, m engine.Message) {
	defer close(t.over)
	defer t.cancel()
	defer func() { // an iterator that ends without an end, or a panic
		if now, _ := t.look(0); !now.ended() {
			t.end(a2a.TaskStateFailed, "etui failed; its log says why")
		}
	}()
	defer panics.Log(s.config.Log, "running a task of another agent")
	for e, err := range s.engine.Send(ctx, m) {
		switch {
		case t.cancelled.Load() && (err != nil || e.Done != nil):
			t.end(a2a.TaskStateCanceled, "")
			return
		case errors.Is(err, message.ErrOpen):
			t.end(a2a.TaskStateInputRequired, err.Error())
			return
		case err != nil:
			_, p := wire.ProblemOf(err)
			t.end(a2a.TaskStateFailed, p.Error.Message)
			return
		case e.Call != nil:
			t.change(func() { t.gap = true })
		case e.Text != "":
			t.say(e.Text)
		case e.Done != nil && e.Done.Stopped:
			t.end(a2a.TaskStateCanceled, e.Done.Reply)
			return
		case e.Done != nil && len(e.Done.Awaits) > 0:
			t.end(a2a.TaskStateInputRequired, e.Done.Reply)
			return
		case e.Done != nil:
			t.end(a2a.TaskStateCompleted, "")
			return
		}
	}
}

// shown returns a task as it is now. One that waited for a person may have gone on since then.
func (s *Server) shown(ctx context.Context, t *task) *a2a.Task {
	now, _ := t.look(0)
	if now.state != a2a.TaskStateInputRequired {
		return now.task(t)
	}
	kept, err := s.engine.Store().Load(ctx, t.session, 1)
	if err == nil && !kept.Open() && len(kept.Messages) > 0 {
		if last := kept.Messages[len(kept.Messages)-1]; last.Role == chat.Assistant {
			t.change(func() {
				if t.state == a2a.TaskStateInputRequired { // nobody else has seen it yet
					t.gap = true
					t.add(last.Text)
					t.state, t.says, t.at = a2a.TaskStateCompleted, "", time.Now()
				}
			})
			now, _ = t.look(0)
		}
	}
	return now.task(t)
}

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// session is a command in the background.
type session struct {
	id, owner, command string
	process            *sandbox.Process
	end                context.CancelFunc
	guard              *protect.Guard
	news               chan struct{} // signals new output
	ended              chan struct{} // closed after the guard has checked the workspace

	mu      sync.Mutex
	unread  []byte
	dropped int
	done    bool   // all output has arrived
	gaveWay bool   // to a command of another conversation
	notes   string // from the guard
}

// begin starts a command in the background.
func (s *Shell) begin(ctx context.Context, c sandbox.Command, command string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.makeRoom(owner(ctx)); err != nil {
		return "", err
	}
	var err error
	if c.Sealed, err = s.config.Guard.Begin(); err != nil {
		return "", err
	}
	c.Hold, c.Kept, c.Hidden = s.config.Guard.Hold(), s.config.Guard.Kept(), s.config.Guard.Hidden()
	s.begun++
	v := &session{id: fmt.Sprintf("cmd-%d", s.begun), owner: owner(ctx), command: command, guard: s.config.Guard,
		news: make(chan struct{}, 1), ended: make(chan struct{})}
	living, end := context.WithTimeout(context.WithoutCancel(ctx), maxLife)
	p, err := s.config.Sandbox.Start(living, c)
	if err != nil {
		end()
		return "", noted(err, guarded(v.guard.End()))
	}
	p.Stdin.Close() // it gets no input
	v.process, v.end = p, end
	go func() {
		defer panics.Log(nil, "ending a command in the background")
		v.read()
	}()
	s.sessions = append(s.sessions, v)
	return fmt.Sprintf("Running as %s (sandbox: %s); background_output returns its output, stop_background ends it. It is stopped after 2 hours.", v.id, s.config.Sandbox.Mode()), nil
}

// makeRoom finds a place for a command of a conversation. If all are taken, the conversation
// with the most commands gives up its newest one, unless the caller would have as many then.
// It unlocks the shell while that command ends.
func (s *Shell) makeRoom(caller string) error {
	for {
		known, running, total := map[string]int{}, map[string]int{}, 0
		for _, v := range s.sessions {
			if known[v.owner]++; !v.over() {
				running[v.owner]++
				total++
			}
		}
		if s.closed {
			return errClosed
		}
		for len(s.sessions) >= maxSessions { // total is less
			at := first(s.sessions, known, (*session).over)
			known[s.sessions[at].owner]--
			s.sessions = slices.Delete(s.sessions, at, at+1)
		}
		if total < maxRunning {
			return nil
		}
		newest := slices.Clone(s.sessions)
		slices.Reverse(newest)
		v := newest[first(newest, running, func(v *session) bool { return !v.over() })]
		if running[v.owner] <= running[caller]+1 {
			return fmt.Errorf("%d commands are already running in the background; end one of yours with stop_background, or wait", total)
		}
		v.mu.Lock()
		v.gaveWay = true
		v.mu.Unlock()
		s.mu.Unlock()
		v.stop()
		s.mu.Lock()
	}
}

// first returns the first session that matches, among those of the conversation with the most.
func first(list []*session, count map[string]int, matches func(*session) bool) int {
	best := -1
	for i, v := range list {
		if matches(v) && (best < 0 || count[v.owner] > count[list[best].owner]) {
			best = i
		}
	}
	return best
}

func (v *session) over() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.done
}

// read keeps the command's output until it is fetched; of unfetched output it keeps
// the newest part.
func (v *session) read() {
	defer close(v.ended)
	if err := panics.Try(nil, "reading the output of a command in the background", v.listen); err != nil {
		v.end() // what the command did is put in order below
	}
	<-v.process.Done()
	_ = v.process.Close() // the command has ended
	v.end()
	notes := guarded(v.guard.End())
	v.mu.Lock()
	if v.gaveWay {
		notes = "\n(It was ended: all places were taken, and another conversation had fewer.)" + notes
	}
	v.notes, v.done = notes, true
	v.mu.Unlock()
	v.tell()
}

// listen reads the output of the command until it ends.
func (v *session) listen() error {
	chunk := make([]byte, 8<<10)
	for {
		n, err := v.process.Stdout.Read(chunk)
		v.mu.Lock()
		v.unread = append(v.unread, chunk[:n]...)
		if more := len(v.unread) - maxKept; more > 0 {
			v.unread, v.dropped = slices.Delete(v.unread, 0, more), v.dropped+more
		}
		v.mu.Unlock()
		if err != nil {
			return nil //nolint:nilerr // the output has ended, in whatever way
		}
		v.tell()
	}
}

func (v *session) tell() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// take returns the output since the last call, at most maxShown bytes.
func (v *session) take() (text string, done bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := min(len(v.unread), maxShown)
	if n < len(v.unread) || !v.done {
		n = whole(v.unread[:n])
	}
	from := 0
	if v.dropped > 0 {
		from = rest(v.unread[:n])
	}
	text = plain(sandbox.Output{Head: slices.Clone(v.unread[from:n])})
	if v.dropped += from; v.dropped > 0 {
		text = fmt.Sprintf("(%d bytes before this were dropped)\n", v.dropped) + text
	}
	v.unread, v.dropped = slices.Delete(v.unread, 0, n), 0
	return text, v.done && len(v.unread) == 0
}

// Programs write long output in blocks of at least this many bytes, wherever a block ends;
// a word at its end may be incomplete. One of more than maxWord bytes is not looked for.
const (
	minBlock = 4 << 10
	maxWord  = 512
)

// whole returns the length of a text without an incomplete character at its end, and, where
// the text is long, without an incomplete word: half a secret is not found.
func whole(text []byte) int {
	if from := len(text) - maxWord; len(text) >= minBlock {
		if at := bytes.LastIndexAny(text[from:], " \n"); at >= 0 {
			return from + at + 1
		}
	}
	for back := 1; back < min(utf8.UTFMax, len(text)+1); back++ {
		if last := text[len(text)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return len(text) - back
			}
			break
		}
	}
	return len(text)
}

// words returns an output without the incomplete words where bytes are missing: half a secret is
// not found.
func words(o sandbox.Output) sandbox.Output {
	if o.Dropped == 0 {
		return o
	}
	n := whole(o.Head)
	o.Dropped += int64(len(o.Head) - n)
	o.Head, n = o.Head[:n], rest(o.Tail)
	o.Tail = o.Tail[n:]
	o.Dropped += int64(n)
	return o
}

// rest returns the length of the incomplete word at the beginning of a text.
func rest(text []byte) int { return bytes.IndexAny(text[:min(len(text), maxWord)], " \n") + 1 }

// told returns the guard's notes about a finished command, once.
func (v *session) told() (notes string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	notes, v.notes = v.notes, ""
	return notes
}

// stop ends the command and waits until the guard has checked the workspace.
func (v *session) stop() {
	v.end()
	<-v.ended
}

// find finds a command of the caller's conversation.
func (s *Shell) find(ctx context.Context, id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []string
	for _, v := range s.sessions {
		if v.owner != owner(ctx) {
			continue
		}
		if v.id == id {
			return v, nil
		}
		own = append(own, v.id)
	}
	if len(own) == 0 {
		return nil, errors.New("no command is running in the background; exec starts one")
	}
	return nil, fmt.Errorf("there is no command %q; there are %v", id, own)
}

type outputInput struct {
	// as exec said
	ID string `json:"id"`
	// seconds to wait for something new
	Wait int `json:"wait" default:"5" minimum:"0" maximum:"50"`
}

// backgroundOutput gives what a command in the background has written since the last time, and whether it runs.
//
//etui:tool risk=read
//etui:zh 查看后台命令的新输出和状态。
//etui:alias poll background, is it done, 后台输出
func (s *Shell) backgroundOutput(ctx context.Context, in outputInput) (string, error) {
	v, err := s.find(ctx, in.ID)
	if err != nil {
		return "", err
	}
	waited := time.NewTimer(time.Duration(min(in.Wait, maxWait)) * time.Second)
	defer waited.Stop()
	for {
		text, done := v.take()
		switch {
		case done:
			return fmt.Sprintf("%s%s\n(%v)", text, v.told(), v.process.Err()), nil
		case text != "" && v.over():
			return text + "\n(it has ended; more output is waiting)", nil
		case text != "":
			return text + "\n(still running)", nil
		}
		select {
		case <-v.news:
		case <-waited.C:
			return "(nothing new; still running)", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

type stopInput struct {
	// as exec said
	ID string `json:"id"`
}

// stopBackground ends a command that runs in the background.
//
//etui:tool risk=write
//etui:zh 结束后台命令。
//etui:alias kill process, end background, 终止命令
func (s *Shell) stopBackground(ctx context.Context, in stopInput) (string, error) {
	v, err := s.find(ctx, in.ID)
	if err != nil {
		return "", err
	}
	v.stop()
	return fmt.Sprintf("%s has ended.%s", v.id, v.told()), nil
}

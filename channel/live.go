package channel

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/rest"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/turn"
)

const (
	// editing is how often a draft changes at most.
	editing = time.Second
	// typing is how often people are shown that an answer is being written.
	typing = 4 * time.Second
	// marking is after how long a message gets a mark until its answer has come, where
	// nothing shows that one is being written.
	marking = 2 * time.Second
	// maxMark bounds the time to put it there, and to take it away again.
	maxMark = 10 * time.Second
	// minDraft is how many characters an answer has before a draft of it is shown.
	minDraft = 24
)

// draft is the message in which people see an answer grow.
type draft struct {
	mu     sync.Mutex
	id     string // empty until it is sent
	shown  string
	closed bool // the reply has come
}

// draftKey is the key of the draft of the answer to a message.
func draftKey(to Address) string { return to.Chat + "\x00" + to.Message }

// live shows people that, and how, an answer is being written.
type live struct {
	account *account
	to      Address
	stop    context.CancelFunc

	changed chan struct{} // has an element when calls has; nil where no calls are shown

	mu    sync.Mutex
	text  strings.Builder // since the last call
	calls []Call          // that began or ended and were not shown yet
}

// follow begins to show that an answer to a message is being written.
func (a *account) follow(to Address) *live {
	ctx, stop := context.WithCancel(a.life)
	l := &live{account: a, to: to, stop: stop}
	l.unfolds(ctx)
	typer, types := a.Channel.(Typer)
	editor, edits := a.Channel.(Editor)
	edits = edits && !a.Whole
	marker, marks := a.Channel.(Marker)
	marks = marks && !types && to.Message != ""
	if !types && !edits && !marks {
		return l
	}
	began := time.Now()
	a.turns.Go(func() {
		defer panics.Log(a.log, "showing that an answer is being written")
		var d *draft
		if edits {
			d = &draft{}
			a.drafts.Put(draftKey(to), d) // before anything is shown: the reply may come first
		}
		shown := time.Time{}
		for {
			if d != nil {
				l.show(ctx, editor, d)
			}
			if now := time.Now(); types && (d == nil || d.id == "") && now.Sub(shown) >= typing &&
				!a.rests.Now(rest.Sending, to.Chat) {
				shown = now
				_ = typer.Typing(ctx, to) // it is only a hint
			}
			if marks && ctx.Err() == nil && time.Since(began) >= marking && !a.rests.Now(rest.Sending, to.Chat) {
				marks = false
				mark := func(busy bool) { // whole, though the answer comes meanwhile: a mark without its ID stays
					ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxMark)
					defer cancel()
					_ = marker.Mark(ctx, to, busy) // a hint, too
				}
				mark(true)
				defer mark(false)
			}
			if !sleep.For(ctx, editing) {
				return
			}
		}
	})
	return l
}

// see takes an event of the turn.
func (l *live) see(e turn.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Call != nil || e.Result != nil {
		l.text.Reset()
		l.note(e)
	}
	l.text.WriteString(e.Text)
}

// show brings the draft up to date. What fails is left out: the reply comes anyway.
func (l *live) show(ctx context.Context, editor Editor, d *draft) {
	l.mu.Lock()
	text := l.text.String()
	l.mu.Unlock()
	if strings.Count(text, "") <= minDraft {
		return
	}
	text = markup.Split(text, l.account.traits.room(l.account.Account.Language))[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	kind := rest.Editing
	if d.id == "" {
		kind = rest.Sending
	}
	if d.closed || text == d.shown || ctx.Err() != nil || l.account.rests.Now(kind, l.to.Chat) {
		return
	}
	var err error
	if d.id == "" {
		d.id, err = l.account.Channel.Send(ctx, Outgoing{To: l.to, Text: text, Key: "draft-" + l.to.Message})
	} else {
		err = editor.Edit(ctx, l.to, d.id, text)
	}
	if err == nil {
		d.shown = text
	} else if d.closed = refused(err); !d.closed && ctx.Err() == nil {
		l.account.failed(ctx, kind, l.to.Chat, err)
	}
}

// end ends the showing.
func (l *live) end() { l.stop() }

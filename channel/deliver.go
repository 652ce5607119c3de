package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/rest"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/session"
)

const (
	// page is how many letters are read at once.
	page = 200
	// look is how often the outbox is read when nothing says that it changed.
	look = time.Second
	// tooOld is when a letter is given up that could not be delivered.
	tooOld = 7 * 24 * time.Hour
	// rejections is how often a letter is tried that the platform does not take in any form.
	rejections = 3
	// hopeless is how often a letter is tried if others arrive meanwhile, or the line that says that
	// it cannot be shown: the platform does not want this one, whatever it says.
	hopeless = 8
	// brief is how long the end of a limit on edits is waited for; beyond it the reply comes as a
	// message of its own.
	brief = 5 * time.Second
	// lastWords is how long a reply may still take that is being sent when the host ends: cut off,
	// it would be sent again by the next process.
	lastWords = 3 * time.Second
	// underWay is why a letter waits that a process is about to send.
	underWay = "it is being sent"
	// letterKey begins the keys of letters.
	letterKey = "etui-"
)

// queue is what keeps its order: the letters of a session in one chat. The direct chats of a person
// may share a session, and a letter that one of them refuses holds up no other.
type queue struct {
	session session.Key
	account *account
	chat    string
}

// delivered is the end of a delivery in a queue: how often the letter was tried that failed,
// 0 if none did.
type delivered struct {
	queue queue
	tries int
}

// deliver delivers the letters of the accounts that it receives from owned, until ctx ends:
// those of a queue one after the other, and many queues at once.
func (h *Host) deliver(ctx context.Context, owned <-chan *account) {
	mine := map[string]*account{}
	done := make(chan delivered)
	var all sync.WaitGroup
	defer all.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		next := look
		select {
		case <-ctx.Done():
			return
		case a := <-owned:
			mine[a.Name] = a
			next = 0
		case end := <-done:
			delete(h.busy, end.queue)
			if end.tries == 0 {
				delete(h.later, end.queue)
			} else if len(h.later) < remembered {
				h.later[end.queue] = time.Now().Add(min(firstPause<<min(end.tries-1, 10), lastPause))
			}
			next = 0
		case <-h.engine.Outbox().Answered():
			next = 0
		case <-timer.C:
			waiting, err := h.look(ctx, mine, func(q queue, letters []outbox.Letter) {
				h.busy[q] = true
				all.Go(func() {
					end := delivered{q, 1}
					defer func() {
						select {
						case done <- end:
						case <-ctx.Done():
						}
					}()
					defer panics.Log(h.log, "delivering replies")
					end.tries = q.account.deliverAll(ctx, letters)
				})
			})
			if err != nil && !failing && ctx.Err() == nil { // once, until it can be read again
				h.log.WarnContext(ctx, "the outbox cannot be read; replies wait", "error", err)
			}
			failing = err != nil
			// A long outbox is read less often.
			next = max(look, time.Duration(waiting)*time.Millisecond/20)
			timer.Reset(next)
			continue
		}
		if next == 0 {
			timer.Reset(0)
		}
	}
}

// look hands the letters of each queue that is not busy to begin, and returns how many
// wait.
func (h *Host) look(ctx context.Context, mine map[string]*account,
	begin func(queue, []outbox.Letter)) (waiting int, err error) {
	batches, order := map[queue][]outbox.Letter{}, []queue{}
	counts := map[*account]int{}
	for after := int64(0); ; {
		letters, err := h.engine.Outbox().Letters(ctx, after, page)
		if err != nil {
			return waiting, err
		}
		for _, l := range letters {
			after = l.ID
			var p place
			_ = json.Unmarshal(l.To, &p) // it names no account then
			a := mine[p.Account]
			if a == nil {
				h.ownerless(ctx, p, l)
				continue
			}
			waiting++
			counts[a]++
			q := queue{l.Session, a, p.Chat}
			if h.busy[q] || a.rests.Now(rest.Sending, p.Chat) || time.Now().Before(h.later[q]) {
				continue
			}
			if batches[q] == nil {
				if len(order) >= 4*maxSending {
					continue // they come next
				}
				order = append(order, q)
			}
			if len(batches[q]) < page {
				batches[q] = append(batches[q], l)
			}
		}
		if len(letters) < page {
			break
		}
	}
	for _, a := range mine {
		a.count(func(s *State) { s.Waiting = counts[a] })
	}
	for _, q := range order {
		slices.SortStableFunc(batches[q], func(l, m outbox.Letter) int { return l.Answered.Compare(m.Answered) })
		begin(q, batches[q])
	}
	return waiting, nil
}

// ownerless gives a letter up whose account is gone for long. Another process may have it.
func (h *Host) ownerless(ctx context.Context, p place, l outbox.Letter) {
	if time.Since(l.Asked) > tooOld {
		h.giveUp(ctx, l, fmt.Errorf("there is no channel %q", p.Account))
	}
}

// giveUp ends the tries to deliver a letter, which is parked in the inbox for an operator.
func (h *Host) giveUp(ctx context.Context, l outbox.Letter, why error) {
	h.log.WarnContext(ctx, "a reply is given up: etui inbox shows it", "item", l.ID, "session", l.Session, "error", why)
	if err := h.engine.Outbox().GiveUp(ctx, l, why); err != nil {
		h.log.WarnContext(ctx, "a reply that was given up stays in the outbox", "item", l.ID, "error", err)
	}
}

// giveUp gives a letter up, and tells the person so where that is possible.
func (a *account) giveUp(ctx context.Context, to Address, l outbox.Letter, why error) {
	a.Host.giveUp(ctx, l, why)
	a.count(func(s *State) { s.GivenUp, s.Lost = s.GivenUp+1, why.Error() })
	if errors.Is(why, ErrGone) {
		a.chats.Forget() // it may have been known by its name
		return
	}
	if err := a.writer.tellLost(ctx, to, l); err != nil {
		a.log.WarnContext(ctx, "nobody could be told that a reply was given up", "channel", a.Name, "item",
			l.ID, "error", err)
	}
}

// deliverAll delivers letters of a queue in their order, until one fails. It returns how
// often that one was tried, or 0.
func (a *account) deliverAll(ctx context.Context, letters []outbox.Letter) int {
	for _, l := range letters {
		select {
		case a.sending <- struct{}{}:
		case <-ctx.Done():
			return 0
		}
		ok := a.deliverOne(ctx, l)
		<-a.sending
		if !ok {
			return l.Tries + 1
		}
	}
	return 0
}

// deliverOne delivers a letter, and reports whether the next one may follow.
func (a *account) deliverOne(ctx context.Context, l outbox.Letter) bool {
	a.underWay <- struct{}{} // there is room: a.sending has no more
	defer func() {
		<-a.underWay
		select {
		case a.settled <- struct{}{}:
		default:
		}
	}()
	var to place
	if err := json.Unmarshal(l.To, &to); err != nil {
		a.Host.giveUp(ctx, l, err)
		return true
	}
	if a.rests.Now(rest.Sending, to.Chat) || ctx.Err() != nil {
		return false
	}
	if l.Reason == underWay && !a.traits.Once {
		a.log.WarnContext(ctx, "a reply may arrive twice: the process that sent it ended before it knew whether it had arrived", "channel", a.Name, "item", l.ID)
	}
	l.Tries, l.Reason = l.Tries+1, underWay
	if err := a.engine.Outbox().Undelivered(ctx, l); err != nil {
		return false // another process has it, or the store is away
	}
	going, end := outlasting(ctx)
	defer end()
	delivering, delivered := a.engine.Outbox().Delivery(going, l, a.Name)
	err := a.sendLetter(delivering, to.Address, l)
	delivered(err)
	switch {
	case err != nil && going.Err() != nil:
		return false // it may have arrived: the letter still says that it is being sent
	case err == nil:
		a.succeeded(to.Chat)
	case errors.Is(err, ErrGone), time.Since(l.Asked) > tooOld, errors.Is(err, ErrRejected) && l.Tries >= rejections,
		l.Tries >= hopeless && momentary(err) && (a.arrives(l) || a.writer.tellLost(going, to.Address, l) == nil):
		a.giveUp(going, to.Address, l, err)
		return true
	default:
		if ctx.Err() == nil {
			a.failed(ctx, rest.Sending, to.Chat, err)
		}
		if l.Tries >= hopeless/2 {
			a.doubted.Add(l.ID, time.Now())
		}
		l.Reason = err.Error()
		_ = a.engine.Outbox().Undelivered(going, l) // it is tried again all the same
		return false
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err = a.engine.Outbox().Delivered(going, l.ID); err == nil {
			return true
		}
		// The reply has arrived: nothing else may be done with the letter.
		a.log.ErrorContext(ctx, "a reply that was sent cannot be marked", "channel", a.Name, "item", l.ID, "error", err)
		if !sleep.For(going, pause) {
			return false
		}
	}
}

// lingering returns the context of a channel that runs: it ends after ctx, when nothing is being sent
// any more. Some channels send through the connection that Run has.
func (a *account) lingering(ctx context.Context) (context.Context, func()) {
	going, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		late := time.NewTimer(lastWords)
		defer late.Stop()
		for len(a.underWay) > 0 {
			select {
			case <-a.settled:
			case <-late.C:
				return
			case <-going.Done():
				return
			}
		}
	})
	return going, func() { stop(); cancel() }
}

// outlasting returns a context that ends some time after ctx.
func outlasting(ctx context.Context) (context.Context, func()) {
	going, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })
	return going, func() { stop(); cancel() }
}

func (a *account) succeeded(chat string) {
	a.ill.Remove(chat)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Sent++
	a.arrived = time.Now()
	if a.state.Connected {
		a.state.Error = ""
	}
	a.failures = 0
}

// arrives reports whether something has arrived since a letter had failed so often that it may be the fault
// of the letter.
func (a *account) arrives(l outbox.Letter) bool {
	since, ok := a.doubted.Get(l.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	return ok && a.arrived.After(since)
}

// momentary reports whether an error says nothing but that something did not work now.
func momentary(err error) bool {
	return err != nil && !refused(err) && !errors.Is(err, ErrRefused) && !errors.As(err, new(*Limited)) &&
		!errors.Is(err, context.Canceled)
}

// failed makes rest what the platform asks for, and the account when nothing arrives any more. A
// message that the platform does not take says nothing of others.
func (a *account) failed(ctx context.Context, kind rest.Kind, chat string, err error) {
	var limited *Limited
	pause := time.Duration(0)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case errors.As(err, &limited):
		pause = max(limited.After, firstPause)
		switch limited.Scope {
		case OneKind:
			chat = ""
		case WholeAccount:
			kind, chat = "", ""
		}
	case errors.Is(err, ErrRefused):
		pause, kind, chat = lastPause, "", ""
	case !refused(err):
		if !a.ill.Add(chat, time.Now()) {
			if since, _ := a.ill.Get(chat); a.arrived.After(since) {
				break // others arrive: it is the matter of this chat
			}
		}
		if a.rests.Now("", "") {
			break // it was under way when the rest began
		}
		if a.failures++; a.failures >= 3 {
			pause = min(firstPause<<min(a.failures-3, 10), lastPause)
		}
		if was := a.failing; was != chat { // else it may be the matter of this chat alone
			a.failing, kind, chat = chat, "", ""
		}
	}
	if pause > 0 {
		a.rests.Begin(kind, chat, time.Now().Add(pause))
	}
	if !refused(err) { // else the state tells of it when it is given up
		a.state.Error = err.Error()
	}
	a.log.WarnContext(ctx, "something could not be sent and is tried again", "channel", a.Name, "kind", kind,
		"error", err, "again_in", pause)
}

// sendLetter sends what a letter says, and then its files.
func (a *account) sendLetter(ctx context.Context, to Address, l outbox.Letter) error {
	l.Language = cmp.Or(l.Language, a.Account.Language)
	if l.Text != "" || l.Failed != "" || len(l.Files) == 0 {
		if err := a.sendText(ctx, to, l); err != nil {
			return err
		}
	}
	return a.writer.writeFiles(ctx, to, l)
}

// sendText sends the text of a letter: it completes the draft that people have seen grow.
func (a *account) sendText(ctx context.Context, to Address, l outbox.Letter) error {
	text := l.Text
	if text == "" {
		text = l.Failed
	}
	var buttons []Button
	if a.traits.Buttons {
		labels, texts := approval.Buttons(l.Awaits)
		for i := range labels {
			buttons = append(buttons, Button{labels[i], texts[i]})
		}
	}
	key := fmt.Sprint(letterKey, l.ID)
	d, _ := a.drafts.Get(draftKey(to))
	if d == nil {
		return a.writer.writeText(ctx, to, l.Language, text, buttons, key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.id == "" {
		return a.writer.writeText(ctx, to, l.Language, text, buttons, key)
	}
	parts, first := markup.Split(text, a.traits.room(l.Language)), 0
	if editor, ok := a.Channel.(Editor); ok && len(buttons) == 0 && len(parts) > 0 {
		if d.shown != parts[0] {
			if err := a.complete(ctx, editor, to, d.id, parts[0]); errors.Is(err, ErrRefused) {
				return err
			} else if err != nil { // the draft cannot be changed now: the reply comes whole
				return a.writer.writeText(ctx, to, l.Language, text, buttons, key)
			}
			d.shown = parts[0]
		}
		first = 1
		a.writer.sent.Put(key, true)
	}
	if err := a.writer.writeParts(ctx, to, parts, first, buttons, key); err != nil {
		return err
	}
	a.drafts.Remove(draftKey(to))
	return nil
}

// complete replaces the text of a draft, and waits for the end of a limit on that if it is near.
func (a *account) complete(ctx context.Context, editor Editor, to Address, id, text string) error {
	for try := 0; ; try++ {
		wait := time.Until(a.rests.Until(rest.Editing, to.Chat))
		if wait > brief {
			return fmt.Errorf("edits wait for %s", wait.Round(time.Second))
		}
		if !sleep.For(ctx, wait) {
			return ctx.Err()
		}
		err := editor.Edit(ctx, to, id, text)
		if !errors.As(err, new(*Limited)) || try == 2 {
			return err
		}
		a.failed(ctx, rest.Editing, to.Chat, err)
	}
}

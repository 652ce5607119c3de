package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// maxSteered is how many messages a turn takes in after one round. The rest waits.
const maxSteered = 8

// errTaken is the cause with which a message stops waiting for a turn of its own.
var errTaken = errors.New("the running turn has taken the message in")

// taken is how a message ends that the running turn took in.
func taken(lang string) *turn.End {
	return &turn.End{Reply: phrase.In(lang, "(taken into the answer that is being written)"), Taken: true}
}

// steering returns the messages that the running turn can take in: the next ones of its
// mailbox, while they are texts of the same sender, from the same place and with the same
// wishes. While a workflow runs, it also takes a person's choice of the skill. Any other
// message, and what comes after it, has a turn of its own.
func (r *turnRun) steering(ctx context.Context) (list []turn.Interjection) {
	j := r.job
	// A message that comes when the sender has gone ends the turn.
	if j.engine.box.Waiting(j.key) == 0 || j.unheard.Load() && j.engine.box.Answers.Senders(j.item.ID) < 2 {
		return nil
	}
	waiting, err := j.engine.config.Store.Items(
		ctx, store.ItemFilter{Session: j.key, State: store.Waiting, Limit: maxSteered + 1},
	)
	if err != nil {
		return nil // they wait
	}
	for _, i := range waiting {
		if i.ID == j.item.ID {
			continue
		}
		_, next, err := j.engine.agents.Read(i)
		if err != nil || i.Holder != j.engine.holder {
			break
		}
		steered := turn.Interjection{Text: next.Text, Item: i.ID}
		if name, ok := strings.CutPrefix(next.Text, message.Switch+" "); ok &&
			(r.mail.Workflow != "" || r.session.Flow.Runs()) {
			next.Skill = strings.TrimSpace(name)
			skill, err := j.choice(next, r.session)
			if err != nil {
				break // it is told so when the turn has ended
			}
			steered.Skill = &skill
		} else if !j.agent.Steer || !r.steers(next) {
			break
		}
		list = append(list, steered)
	}
	return list
}

// steers reports whether a message can join the turn.
func (r *turnRun) steers(next message.Mail) bool {
	running := r.mail
	if len(running.Reply) == 0 == (len(next.Reply) == 0) {
		running.Reply = next.Reply // another message of the same chat
	}
	running.Trace, running.Language = next.Trace, next.Language
	return next.Text != "" && !strings.HasPrefix(next.Text, "/") && len(next.Files)+len(next.Answers) == 0 &&
		next.Outcome == nil && next.Guest == running.Guest && (next.Skill == "" || next.Skill == running.Skill) &&
		bytes.Equal(next.Stored(), running.Stored())
}

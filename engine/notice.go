package engine

import (
	"context"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// showNotice shows a notice to the person of the conversation. It asks no model, and none can
// withhold it.
func (j *job) showNotice(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) bool {
	done := turn.End{Reply: m.Notice}
	end := store.End{ID: j.item.ID, Result: message.Result(&done, nil), Deliver: len(m.Reply)+len(s.Reply) > 0}
	if s.Turn.ID == "" { // else it would come between calls and their results
		said := []chat.Message{{Role: chat.Assistant, Text: m.Notice, Time: j.engine.config.Now()}}
		if len(s.Messages) == 0 { // models are asked with a conversation that a user begins
			begin := chat.Message{Role: chat.User,
				Text: "[Nobody has written here yet: you say something by yourself.]", Time: said[0].Time}
			said = append([]chat.Message{begin}, said...)
		}
		end.Session = s.Key
		end.State, end.Messages = turn.AddMessages(s.State, said...)
	}
	if err := j.engine.box.Write(ctx, end); err != nil {
		return j.refuse(ctx, err, yield)
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}

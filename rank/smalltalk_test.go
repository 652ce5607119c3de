package rank_test

import (
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// A message of small talk finds nothing, whatever words it shares with tools. With any other
// word in it, as an answer to the assistant, or where it goes on with a request, it counts.
func TestSmallTalk(t *testing.T) {
	t.Parallel()
	index := rank.New([]*tool.Definition{
		{Name: "plan_birthday", Description: "Plans a happy birthday party; nice to meet people, 很高兴认识你 生日快乐."},
		{Name: "play_sound", Description: "Plays sounds that sound good."},
		{Name: "find_job", Description: "Finds a good job."},
	}, rank.Weights{})
	found := func(question string, history ...chat.Message) bool {
		r := index.Rank(rank.Query{Text: question, History: history})
		return len(r.Hits(1)) > 0
	}
	for _, question := range []string{
		"Happy birthday!", "Nice to meet you.", "hi, nice to meet you :)", "good job", "Good job, thank you so much!", "Sounds good", "很高兴认识你", "生日快乐！谢谢", "NICE  to\nmeet-you",
	} {
		if found(question) {
			t.Errorf("%q found something", question)
		}
	}
	said := chat.Message{Role: chat.Assistant, Text: "I found a job for you."}
	asked := chat.Message{Role: chat.Assistant, Text: "What should the card say?"}
	for _, question := range []string{"happy birthday party", "a good job in Oslo", "play a sound", "sounds", "生日快乐聚会"} {
		if !found(question) {
			t.Errorf("%q found nothing", question)
		}
	}
	switch {
	case !found("happy birthday", asked):
		t.Error("an answer to the assistant is small talk")
	case found("happy birthday", said):
		t.Error("small talk counts after a message that asks for nothing")
	case !found("sounds good", said):
		t.Error("a message that goes on with the conversation is small talk")
	}
}

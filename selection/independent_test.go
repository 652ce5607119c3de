package selection_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
)

// past is what was asked of the office before, by several people.
func past() *rank.Votes {
	return rank.NewVotes([]rank.PastQuestion{
		{Question: "my purse should be fuller", Tools: []string{"createInvoice"}},
		{Question: "the grumpy one called again", Tools: []string{"send_mail", "gone_tool"}, User: "alice", Own: true},
		{Question: "show me what the pod says", Tools: []string{"get_pod_logs"}, User: "bob"},
		{Question: "明天要带伞吗", Tools: []string{"get_weather"}},
		{Question: "great, thanks", Tools: []string{"request_leave"}},
	})
}

// conversations are what was said and called before a question.
func conversations() [][]chat.Message {
	asked := func(text string) chat.Message { return chat.Message{Role: chat.User, Text: text} }
	said := func(text string, calls ...chat.Call) chat.Message {
		return chat.Message{Role: chat.Assistant, Text: text, Calls: calls}
	}
	call := func(name, arguments string) chat.Call {
		return chat.Call{ID: "1", Name: name, Arguments: json.RawMessage(arguments)}
	}
	result := chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: "1", Text: "done"}}
	return [][]chat.Message{
		nil,
		{asked("what is the weather in Oslo?"), said("", call("get_weather", `{}`)), result, said("It rains.")},
		{asked("bill the customer"), said("Which customer do you mean?")},
		{asked("查一下天气"), said("请提供城市名称。"), asked("北京"), said("请确认日期")},
		{asked("the logs of the pod"), said("", call("call_tool", `{"name":"get_pod_logs","arguments":{}}`)), result, said("Anything else?")},
		{asked("mail it"), said("", call("call_tool", `{`), call("find_tools", `{"query":"mail"}`))},
		{said("great"), asked(""), asked("thanks")},
	}
}

// Every question gets what a selector gives it that nobody has asked before, whoever
// asked what in between, after what was said, and by however many at once.
func TestQuestionsAreIndependent(t *testing.T) {
	t.Parallel()
	c := office(t).Catalog()
	fresh := func() *selection.Selector { return selection.New(c, choosing).WithVotes(past()) }
	shared := fresh()
	questions := []string{
		"great", "thanks", "谢谢", "the pod logs", "and in Berlin?", "北京", "tomorrow", "my purse is empty", "the grumpy one", "bill the cutsomer. Then mail it.",
		"要带伞吗", "no, the mail one", "", "17 * 23", "请假 and mail", "yes please",
	}
	callers := []chat.Facts{{}, {User: "alice"}, {User: "bob", Roles: []string{"hr"}, Channel: "web", Time: time.Unix(1, 0)}, {Skill: "gone"}}
	var requests []selection.Request
	for i, history := range conversations() {
		for k, text := range questions {
			req := selection.Request{Query: text, History: history, Facts: callers[(i+k)%len(callers)]}
			if k%5 == 1 {
				req.Began, req.Declared = selection.Preselect, []string{"find_tools", "call_tool", "get_weather"}
			}
			requests = append(requests, req)
		}
	}
	want := make([]selection.Explanation, len(requests))
	for i, req := range requests {
		want[i] = fresh().Select(req).Explain()
	}
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() { // each asks all of it in another order
			for _, i := range rand.New(rand.NewPCG(1, uint64(worker))).Perm(len(requests)) {
				if got := shared.Select(requests[i]).Explain(); !reflect.DeepEqual(got, want[i]) {
					t.Errorf("%q of %+v after %d messages: %s", requests[i].Query, requests[i].Facts, len(requests[i].History), differs(got, want[i]))
					return
				}
				if i%3 == 0 {
					shared.Search(requests[i], 3)
				}
			}
		})
	}
	workers.Wait()
}

// differs names the first tool on which two explanations differ.
func differs(got, want selection.Explanation) string {
	for i := range want.Tools {
		if !reflect.DeepEqual(got.Tools[i], want.Tools[i]) {
			return fmt.Sprintf("%+v, want %+v", got.Tools[i], want.Tools[i])
		}
	}
	return fmt.Sprintf("%+v, want %+v", got, want)
}

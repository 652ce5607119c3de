package rank_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// office are definitions in which each kind of text says something of its own.
var office = []*tool.Definition{
	{Name: "get_pod_logs", Description: "Read the log output of a pod's containers", Groups: []string{"kubernetes"}},
	{Name: "list_pods", Description: "List the pods of a namespace", Groups: []string{"kubernetes"}},
	{Name: "createInvoice", Description: "Bill a customer", Groups: []string{"finance"}},
	{Name: "refund.payment", Description: "Pay money back to a customer", Groups: []string{"finance"}},
	{Name: "get_weather", Description: "Tell the weather of a city", Translations: map[string]string{"zh": "查询某地的天气预报"}, Groups: []string{"weather"}},
	{Name: "request_leave", Description: "Apply for vacation", Aliases: []string{"请假", "day off"}, Groups: []string{"hr"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"substitute":{"type":"string","description":"colleague who stands in"},"kind":{"type":"string","enum":["sabbatical","annual"]}}}`)},
	{Name: "send_mail", Description: "Send an e-mail to somebody", Groups: []string{"mail"}},
	{Name: "search_mail", Description: "Find e-mails by sender or words", Groups: []string{"mail"}},
}

// found returns the names of the definitions that fit best.
func found(tools []*tool.Definition, q rank.Query, limit int) []string {
	r := rank.New(tools, rank.Weights{}).Rank(q)
	var names []string
	for _, h := range r.Hits(limit) {
		names = append(names, tools[h.Position].Name)
	}
	return names
}

func TestRanking(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"show me the logs of the pod":        "get_pod_logs",
		"LOGGING of PODS":                    "get_pod_logs",  // stems
		"invoice":                            "createInvoice", // parts of a name
		"please refund the customer":         "refund.payment",
		"明天天气怎么样":                            "get_weather",
		"我想请假":                               "request_leave",
		"I need a day off":                   "request_leave", // alias
		"sabbatical":                         "request_leave", // enum
		"who can substitute me":              "request_leave", // parameter
		"find mail from Bob":                 "search_mail",
		"use get_pod_logs":                   "get_pod_logs",
		"ｇｅｔ＿ｗｅａｔｈｅｒ":                        "get_weather", // full width
		"the wheather":                       "get_weather", // one slip
		"the wheathr":                        "",            // two
		"reufnd, please":                     "refund.payment",
		"Good morning! 早上好！":                 "",
		"3 5 12":                             "",
		"write to pod@weather.example":       "",
		"hi":                                 "",
		"":                                   "",
		"how are you doing, what can you do": "",
		"!!! ??? 。。。":                        "",
	} {
		if got := strings.Join(found(office, rank.Query{Text: query}, 1), " "); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// Signs between numbers are words, of questions and of definitions, and nothing in dates,
// numbers of phones and names.
func TestSigns(t *testing.T) {
	t.Parallel()
	sums := []*tool.Definition{
		{Name: "sums", Description: "Does sums.", Aliases: []string{"calc", "times", "2 + 3", "5 - 4", "6 * 7", "8 / 9", "2 ^ 8"}},
		{Name: "other", Description: "Does something else."},
	}
	for query, want := range map[string]string{
		"what is 17 * 23?": "sums", "12+5": "sums", "(1+2) - 3": "sums", "8 / 4": "sums", "3×4": "sums", "2^8": "sums", "3.5 ＋ 1": "sums",
		"calc 2+3": "sums", "17 times 23": "sums",
		"2026-11-22": "", "24/7": "", "call +49 30 123": "", "**bold** 3": "", "a * b": "", "10-12": "",
	} {
		if got := strings.Join(found(sums, rank.Query{Text: query}, 1), " "); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// Words with the same letters are alike, joined or apart.
func TestLikeness(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "authenticate", Description: "Checks the login of a user"}, {Name: "user_report", Description: "Reports on users"},
		{Name: "make_reservation", Description: "Takes a reservation for a user"},
	}
	for query, want := range map[string]string{
		"log in as the user": "authenticate",
	} {
		if got := strings.Join(found(tools, rank.Query{Text: query}, 1), " "); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// The conversation before speaks where the question does not.
func TestHistory(t *testing.T) {
	t.Parallel()
	said := []chat.Message{
		{Role: chat.User, Text: "what is the weather in Berlin?"}, {Role: chat.Assistant, Text: "The weather in Berlin is sunny."},
		{Role: chat.Tool, Result: &chat.Result{Text: "invoice invoice invoice"}},
	}
	for question, want := range map[string]string{
		"and in Rome?":             "get_weather",
		"yes, please":              "get_weather",
		"那罗马呢":                     "get_weather",
		"refund the customer then": "refund.payment",
		"search my mail":           "search_mail",
		"thanks a lot":             "",
		"谢谢":                       "",
	} {
		if got := strings.Join(found(office, rank.Query{Text: question, History: said}, 1), " "); got != want {
			t.Errorf("%q after the weather finds %q, want %q", question, got, want)
		}
	}
}

// An answer to the assistant belongs to the request before it, tools called earlier count,
// and a real change of subject wins.
func TestDialogue(t *testing.T) {
	t.Parallel()
	user, assistant := chat.User, chat.Assistant
	refund := []chat.Message{{Role: user, Text: "refund a payment"}, {Role: assistant, Text: "Which customer do you mean?"}}
	done := []chat.Message{{Role: user, Text: "do it for Ann"}, {Role: assistant, Calls: []chat.Call{{Name: "refund.payment"}}}, {Role: assistant, Text: "Done."}}
	more := []chat.Message{{Role: user, Text: "refund a payment"}, {Role: assistant, Text: "Done. Can I help you with anything else?"}}
	through := []chat.Message{{Role: user, Text: "do it for Ann"}, {Role: assistant, Calls: []chat.Call{{Name: "x", Arguments: json.RawMessage(`{"name":"refund.payment"}`)}}}}
	for _, c := range []struct {
		history        []chat.Message
		question, want string
	}{
		{refund, "the one who sent an e-mail about vacation", "refund.payment"},
		{refund, "Bob", "refund.payment"},
		{refund, "thanks", ""},
		{done, "and now for Bob", "refund.payment"},
		{through, "and now for Bob", "refund.payment"},
		{more, "send an e-mail to somebody", "send_mail"},
		{nil, "Bob", ""},
	} {
		q := rank.Query{Text: c.question, History: c.history, Called: func(c chat.Call) string {
			if c.Name == "x" {
				return "refund.payment"
			}
			return c.Name
		}}
		if got := strings.Join(found(office, q, 1), " "); got != c.want {
			t.Errorf("%q after %+v finds %q, want %q", c.question, c.history, got, c.want)
		}
	}
}

// What the assistant asks for is what the wanted tool needs, whatever the answer is about.
func TestInquiry(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "count_likes", Description: "Counts the likes and comments of posts about outdoor activities."},
		{Name: "segment_audience", Description: "Divides people into groups.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"data":{"type":"string","description":"What the audience bought."}}}`)},
		{Name: "draw_chart"}, {Name: "plan_activities"}, {Name: "send_mail"}, {Name: "book_hotel"}, {Name: "open_ticket"}, {Name: "get_weather"},
	}
	history := []chat.Message{{Role: chat.User, Text: "help me with our customers"}, {Role: chat.Assistant, Text: "What has your audience bought?"}}
	if got := strings.Join(found(tools, rank.Query{Text: "1200 likes", History: history}, 1), " "); got != "segment_audience" {
		t.Errorf("the answer finds %q, want segment_audience", got)
	}
}

// However many questions of the assistant it takes, the message that opened a request says
// what it is about.
func TestOpening(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "add_reminder"}, {Name: "add_meeting"}, {Name: "change_meeting"}, {Name: "find_room"}, {Name: "send_mail"}, {Name: "get_weather"},
	}
	history := []chat.Message{
		{Role: chat.User, Text: "add a reminder"}, {Role: chat.Assistant, Text: "When?"},
		{Role: chat.User, Text: "at 9"}, {Role: chat.Assistant, Text: "On which day?"},
		{Role: chat.User, Text: "on Monday"}, {Role: chat.Assistant, Text: "And what for?"},
	}
	if got := strings.Join(found(tools, rank.Query{Text: "for the meeting", History: history}, 1), " "); got != "add_reminder" {
		t.Errorf("the answer finds %q, want add_reminder", got)
	}
}

// A long conversation takes no room from the words of the question.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	var tools []*tool.Definition
	var said []string
	for i := range 100 {
		word := fmt.Sprintf("word%c%c", 'a'+i/10, 'a'+i%10)
		said = append(said, word)
		tools = append(tools, &tool.Definition{Name: word})
	}
	for _, other := range []string{"pods", "mails", "rooms", "posts", "songs"} {
		tools = append(tools, &tool.Definition{Name: "list_" + other}, &tool.Definition{Name: other + "_of_users"})
	}
	tools = append(tools, &tool.Definition{Name: "list_users"})
	history := []chat.Message{{Role: chat.User, Text: strings.Join(said, " ")}, {Role: chat.Assistant, Text: "Done."}}
	if got := strings.Join(found(tools, rank.Query{Text: "now list the users", History: history}, 1), " "); got != "list_users" {
		t.Errorf("found %q, want list_users", got)
	}
}

// Definitions that are not admitted have scores and no influence on the others.
func TestAdmitted(t *testing.T) {
	t.Parallel()
	x := rank.New(office, rank.Weights{})
	alone := make([]bool, len(office))
	alone[1] = true // list_pods
	all, few := x.Rank(rank.Query{Text: "logs of a pod"}), x.Rank(rank.Query{Text: "logs of a pod", Admitted: alone})
	if few.Scores[0] == 0 || few.Scores[1] == 0 || few.Scores[1] >= all.Scores[1] {
		t.Errorf("get_pod_logs and list_pods score %v admitted, %v not admitted", all.Scores[:2], few.Scores[:2])
	}
}

// An index whose definitions changed scores as a new one does, to the last bit.
func TestIndexerIsExact(t *testing.T) {
	t.Parallel()
	indexer := rank.NewIndexer(rank.Weights{})
	for _, tools := range [][]*tool.Definition{office, office[2:], append(slices.Clone(deals), office[:4]...), nil, office} {
		for _, question := range []string{"the logs of a pod", "great deals on hotels", "wheather 天气"} {
			q := rank.Query{Text: question}
			got, want := indexer.Index(tools, nil).Rank(q), rank.New(tools, rank.Weights{}).Rank(q)
			if !slices.Equal(got.Scores, want.Scores) {
				t.Errorf("%q: %v, want %v", question, got.Scores, want.Scores)
			}
		}
	}
}

func TestNameParts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"createIssue", "create_issue", "Create Issue", "create-issue"} {
		if got := rank.NameParts(name); !slices.Equal(got, []string{"create", "issue"}) {
			t.Errorf("%s has the parts %q", name, got)
		}
	}
}

// BenchmarkRank is what ranking alone costs; BenchmarkSelect of package
// selection measures all of a selection.
func BenchmarkRank(b *testing.B) {
	var tools []*tool.Definition
	for i := range 1000 {
		d := *office[i%len(office)]
		d.Name = fmt.Sprint(d.Name, i)
		tools = append(tools, &d)
	}
	x := rank.New(tools, rank.Weights{})
	b.ReportAllocs()
	for b.Loop() {
		x.Rank(rank.Query{Text: "approve the overdue invoice of the customer"})
	}
}

// TestMatches: a search finds a single word of a text, also one that would be too
// little among short texts for a tool.
func TestMatches(t *testing.T) {
	t.Parallel()
	texts := []*tool.Definition{{Description: "记住 我喜欢喝绿茶，下周三在北京开会，请提前一天提醒我带上合同和名片"}}
	for i := range 40 {
		texts = append(texts, &tool.Definition{Description: fmt.Sprintf("remember-n%d", i)}, &tool.Definition{Description: "remembered"})
	}
	r := rank.New(texts, rank.Weights{}).Rank(rank.Query{Text: "绿茶"})
	if hits := r.Hits(3); len(hits) != 0 {
		t.Errorf("as tools, %v fit: the test needs another text", hits)
	}
	if found := r.Matches(3); len(found) != 1 || found[0].Position != 0 {
		t.Errorf("found %v, want the text with the word", found)
	}
}

// What the conversation says for a definition that is not admitted alone adds nothing to
// its score, and the explanation says the same.
func TestPastOfTheNotAdmittedIsExplained(t *testing.T) {
	t.Parallel()
	index := rank.New([]*tool.Definition{{Name: "open_safe"}, {Name: "send_mail"}}, rank.DefaultWeights())
	history := []chat.Message{{Role: chat.User, Text: "open the safe"}, {Role: chat.Assistant, Text: "Which one?"}}
	r := index.Rank(rank.Query{Text: "the second", History: history, Admitted: []bool{false, true}})
	if terms, _ := r.Explain(0); r.Scores[0] != 0 || len(terms) > 0 {
		t.Errorf("a score of %v has the terms %+v", r.Scores[0], terms)
	}
}

// TestManyRequests: words that start another request are looked for once, not once for each
// of them.
func TestManyRequests(t *testing.T) {
	index := rank.New(deals, rank.Weights{})
	question := rank.Query{Text: strings.Repeat(" Then  Then ", 1365) + "great"}
	if allocs := testing.AllocsPerRun(10, func() { index.Rank(question) }); allocs > 300 {
		t.Errorf("%.0f allocations", allocs)
	}
}

// The forms of a word are one word, also irregular ones, and what follows a verb belongs to it.
func TestIrregularForms(t *testing.T) {
	t.Parallel()
	index := rank.New([]*tool.Definition{
		{Name: "run_report", Description: "Run a report."}, {Name: "list_low_stock", Description: "Which products run out?"},
		{Name: "sell_item", Description: "Sell an item."}, {Name: "request_leave", Description: "Take a day off."}, {Name: "plan_day", Description: "Plan a day of work."},
	}, rank.Weights{})
	for question, want := range map[string]int{"what ran out?": 1, "has it been sold?": 2, "I'd like next Thursday off": 3} {
		r := index.Rank(rank.Query{Text: question})
		if hits := r.Hits(1); len(hits) != 1 || hits[0].Position != want {
			t.Errorf("%q found %v, want %d", question, hits, want)
		}
	}
}

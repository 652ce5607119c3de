package selection_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

var moment = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// channels is a catalog in which the channel tells tools apart.
func channels(tb testing.TB) *catalog.Registry {
	on := func(name, description string, channels ...string) tool.Tool {
		return described{tool.Definition{Name: name, Description: description, Channels: channels, Risk: tool.Read}}
	}
	r := registry(tb,
		on("create_poll", "Ask people in a poll"),
		on("telegram_poll", "Ask people in a poll with buttons and a message", "telegram"),
		on("slack_poll", "Ask people in a poll with buttons and a message", "slack"),
		on("start_huddle", "Talk to each other", "slack"),
		on("get_weather", "Tell the weather of a city"),
		on("get_news", "Tell the news of a city"),
	)
	_, err := r.SetSkills(
		catalog.Skill{Name: "office", Description: "Mail and calendar", Aliases: []string{"日程"}, Tools: []string{"create_poll"}},
		catalog.Skill{Name: "travel", Description: "Trips and weather", Examples: []string{"fly to Berlin"}, Tools: []string{"get_weather"}},
		catalog.Skill{Name: "huddles", Description: "Talk, mail and calendar", Channels: []string{"slack"}, Tools: []string{"start_huddle"}})
	must(tb, err)
	return r
}

func recommending(tb testing.TB) *selection.Selector {
	return selection.New(channels(tb).Catalog(), selection.Config{Direct: -1, Limit: 3, Recommend: selection.Recommend{On: true}})
}

func ranked(sel *selection.Selection) string {
	var list []string
	for _, m := range sel.Ranked {
		list = append(list, m.Definition.Name)
	}
	return strings.Join(list, " ")
}

func on(channel string) chat.Facts { return chat.Facts{Channel: channel, Time: moment} }

func TestRecommendedTools(t *testing.T) {
	s := recommending(t)
	ago := func(tool string, d time.Duration) selection.Use {
		return selection.Use{Tool: tool, Time: moment.Add(-d)}
	}
	for name, c := range map[string]struct {
		req  selection.Request
		want string
	}{
		"made for the channel":            {selection.Request{Query: "poll", Facts: on("telegram")}, "telegram_poll create_poll"},
		"another channel":                 {selection.Request{Query: "poll", Facts: on("slack")}, "slack_poll create_poll"},
		"none in particular":              {selection.Request{Query: "poll", Facts: on("web")}, "create_poll"},
		"a channel alone is no reason":    {selection.Request{Query: "hi", Facts: on("slack")}, ""},
		"used lately":                     {selection.Request{Query: "and in Rome?", Facts: on("web"), Used: []selection.Use{ago("get_weather", time.Minute)}}, "get_weather"},
		"used long ago":                   {selection.Request{Query: "and in Rome?", Facts: on("web"), Used: []selection.Use{ago("get_weather", 2*time.Hour)}}, ""},
		"use breaks a tie":                {selection.Request{Query: "city", Facts: on("web"), Used: []selection.Use{ago("get_news", 50*time.Hour)}}, "get_news get_weather"},
		"used more often":                 {selection.Request{Query: "city", Facts: on("web"), Used: []selection.Use{ago("get_weather", 50*time.Hour), ago("get_news", 51*time.Hour), ago("get_news", 51*time.Hour)}}, "get_news get_weather"},
		"without times":                   {selection.Request{Query: "city", Facts: chat.Facts{Channel: "web"}, Used: []selection.Use{{Tool: "get_news"}, {Tool: "gone"}}}, "get_news get_weather"},
		"preferred":                       {selection.Request{Query: "city", Facts: on("web"), Preferred: []string{"get_news", "gone"}}, "get_news get_weather"},
		"preferred, but excluded":         {selection.Request{Query: "city", Facts: on("web"), Preferred: []string{"get_news"}, Exclude: []string{"get_news"}}, "get_weather"},
		"an explicit choice wins":         {selection.Request{Query: "poll", Facts: on("telegram"), Include: []string{"create_poll", "telegram_poll"}}, "create_poll telegram_poll"},
		"an active skill wins":            {selection.Request{Query: "poll", Facts: chat.Facts{Channel: "slack", Skill: "office", Time: moment}, Preferred: []string{"slack_poll"}}, "create_poll"},
		"the skill of all is no explicit": {selection.Request{Query: "poll", Facts: chat.Facts{Channel: "slack", Skill: catalog.Full}}, "slack_poll create_poll"},
	} {
		if got := ranked(s.Select(c.req)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The parts of a recommendation add up, rank and order agree, and the weights are
// shares.
func TestRecommendationIsExplained(t *testing.T) {
	req := selection.Request{Query: "poll", Facts: on("telegram"), Used: []selection.Use{{Tool: "create_poll", Time: moment}}}
	v := recommending(t).Select(selection.Request{Query: req.Query, Facts: req.Facts}).Explain().Tools[0]
	if r := v.Recommendation; v.Tool != "telegram_poll" || v.Rank != 1 || r.Channel != 40 || math.Abs(r.Score-r.Channel-r.Keyword) > 0.01 || !strings.Contains(v.Reason, "rank 1, recommended") {
		t.Errorf("%+v, %+v", v, v.Recommendation)
	}
	a, _ := json.Marshal(recommending(t).Select(req).Explain())
	b, _ := json.Marshal(recommending(t).Select(req).Explain())
	if string(a) != string(b) {
		t.Errorf("two explanations:\n%s\n%s", a, b)
	}
	s := selection.New(channels(t).Catalog(), selection.Config{Direct: -1, Limit: 1, Recommend: selection.Recommend{On: true, History: 3, Recency: 1}})
	x := s.Select(req).Explain()
	if r := x.Tools[0].Recommendation; x.Tools[0].Tool != "create_poll" || *r != (selection.Recommendation{Score: 62.5, History: 37.5, Recency: 25}) {
		t.Errorf("history alone: %+v %+v", x.Tools[0], r)
	}
	second := x.Tools[1]
	if second.Rank != 2 {
		t.Errorf("the rank of the second tool is %v, want 2", second.Rank)
	}
	if second.Sent {
		t.Error("the second tool is sent")
	}
	if !strings.Contains(second.Reason, "others fit better, 1 are sent") {
		t.Errorf("the reason of the second tool is %q, want %q in it", second.Reason, "others fit better, 1 are sent")
	}
}

func TestRecommendedSkills(t *testing.T) {
	s := recommending(t)
	for name, c := range map[string]struct {
		req  selection.Request
		want string
	}{
		"by words":              {selection.Request{Query: "weather in Rome", Facts: on("web")}, "travel"},
		"by an example":         {selection.Request{Query: "a flight from Berlin", Facts: on("web")}, "travel"},
		"by an alias":           {selection.Request{Query: "今天的日程", Facts: on("web")}, "office"},
		"by channel":            {selection.Request{Query: "calendar", Facts: on("slack")}, "huddles office"},
		"another channel":       {selection.Request{Query: "calendar", Facts: on("web")}, "office"},
		"by use of its tools":   {selection.Request{Query: "and then?", Facts: on("web"), Used: []selection.Use{{Tool: "get_weather", Time: moment}}}, "travel"},
		"preferred":             {selection.Request{Query: "calendar trips", Facts: on("web"), Preferred: []string{"skill:travel", "skill:huddles"}}, "travel office"},
		"excluded":              {selection.Request{Query: "calendar", Facts: on("web"), ExcludeSkills: []string{"office"}}, ""},
		"nothing fits":          {selection.Request{Query: "hi", Facts: on("slack")}, ""},
		"explicit skills win":   {selection.Request{Query: "calendar", Facts: on("web"), IncludeSkills: []string{"travel"}}, ""},
		"an active skill wins":  {selection.Request{Query: "calendar", Facts: chat.Facts{Skill: "travel"}}, ""},
		"explicit tools do not": {selection.Request{Query: "calendar", Facts: on("web"), Include: []string{"get_news"}}, "office"},
	} {
		if got := strings.Join(s.Select(c.req).Recommended, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	x := s.Select(selection.Request{Query: "weather", Facts: on("web")}).Explain()
	if len(x.Skills) != 3 {
		t.Fatalf("%d skills, want 3: %v", len(x.Skills), x.Skills)
	}
	if x.Skills[0].Skill != "travel" {
		t.Errorf("the first skill is %q, want %q", x.Skills[0].Skill, "travel")
	}
	if !x.Skills[0].Told {
		t.Error("the first skill is not announced")
	}
	if x.Skills[0].Recommendation == nil {
		t.Error("x.Skills[0].Recommendation is nil")
	}
	if x.Skills[1].Told {
		t.Error("the second skill is announced")
	}
	later := s.Select(selection.Request{Query: "weather", Facts: on("web"), Began: selection.Preselect, SkillList: "- office"}).Skills()
	if later[0].Skill != "travel" {
		t.Errorf("the first skill later is %q, want %q", later[0].Skill, "travel")
	}
	if !strings.Contains(later[0].Reason, "described with the message") {
		t.Errorf("the reason of the first skill later is %q, want %q in it", later[0].Reason, "described with the message")
	}
	if later[1].Reason != "listed since the session began" {
		t.Errorf("the reason of the second skill later is %q, want %q", later[1].Reason, "listed since the session began")
	}
	if later[2].Told {
		t.Error("the third skill is announced later")
	}
	off := selection.New(channels(t).Catalog(), choosing).Select(selection.Request{Query: "weather", IncludeSkills: []string{"office"}})
	var told []string
	for _, v := range off.Skills() {
		if v.Told {
			told = append(told, v.Skill)
		}
	}
	if off.Recommended != nil {
		t.Errorf("%v is recommended, want nothing", off.Recommended)
	}
	if !slices.Equal(told, []string{"office"}) {
		t.Errorf("the skills that are announced are %q, want %q", told, []string{"office"})
	}
	if off.Explain().Tools[0].Recommendation != nil {
		t.Errorf("the recommendation of the first tool is %v, want nil", off.Explain().Tools[0].Recommendation)
	}
}

func TestUnsure(t *testing.T) {
	s := recommending(t)
	for query, want := range map[string]string{
		"city":     "get_news get_weather",
		"poll":     "",
		"weather":  "",
		"calendar": "",
		"":         "",
	} {
		var got []string
		for _, c := range s.Select(selection.Request{Query: query, Facts: on("telegram")}).Unsure() {
			got = append(got, c.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %q", query, got, want)
		}
	}
	direct := selection.New(channels(t).Catalog(), selection.Config{Recommend: selection.Recommend{On: true}})
	if c := direct.Select(selection.Request{Query: "city"}).Unsure(); c != nil {
		t.Errorf("all tools are sent, and still %v", c)
	}
}

// Earlier messages count in history and recency, not as keywords too.
func TestRecommendFollowsTheQuestion(t *testing.T) {
	s := selection.New(office(t).Catalog(), selection.Config{Direct: -1, Limit: 4, Recommend: selection.Recommend{On: true}})
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	req := selection.Request{
		Query: "create an invoice", Facts: chat.Facts{Time: now},
		History: []chat.Message{{Role: chat.User, Text: "what is the weather?"}, {Role: chat.Assistant, Text: "The weather is sunny weather."}},
		Used:    []selection.Use{{Tool: "get_weather", Time: now.Add(-time.Minute)}, {Tool: "get_weather", Time: now}},
	}
	if sel := s.Select(req); sel.Ranked[0].Definition.Name != "createInvoice" {
		t.Errorf("finds %s first", sel.Ranked[0].Definition.Name)
	}
	req.Query = "and in Rome?"
	if sel := s.Select(req); sel.Ranked[0].Definition.Name != "get_weather" {
		t.Errorf("goes on with %s", sel.Ranked[0].Definition.Name)
	}
}

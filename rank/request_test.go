package rank_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// pastes are texts of kinds that people paste, none of which asks for anything.
var pastes = map[string]string{
	"trace": `panic: runtime error: invalid memory address or nil pointer dereference

goroutine 1 [running]:
main.(*OrderService).Save(0xc000012345)
	/app/internal/orders.go:17 +0x1a
main.(*MailClient).Send(0xc000054321)
	/app/internal/mail.go:99 +0x2b`,
	"log": `2026-11-28T10:00:01Z INFO [search] user logged in id=4711
2026-11-28T10:00:02Z WARN [mail] connection refused by host mail1
2026-11-28T10:00:03Z ERROR [mail] request failed after 300ms
2026-11-28T10:00:04Z INFO [stock] cache miss for currency`,
	"diff": `diff --git a/service.py b/service.py
@@ -1,9 +1,14 @@
-    result = self.get_weather(city)
+    result = self.convert_currency(city)
-    user = self.find_user(id)
+    user = self.send_mail(id)`,
	"table": `| product | price | comment |
|---|---|---|
| camera | 120 EUR | good movie |
| ticket | 30 EUR | fast delivery |`,
	"transcript": `[10:01] kim: did the flight to Madrid leave on time?
[10:02] lee: the playlist is great
[10:03] sam: who books the hotel?
[10:04] kim: I sent the invoice yesterday`,
	"messages": `Kim  9:10 AM
did you book the flight?
Lee  9:11 AM
please send me the invoice
Sam  9:12 AM
can you translate this?`,
	"configuration": `services:
  payment-0:
    image: registry/stock:0
    environment:
      REGION: eu
  weather-1:
    image: registry/news:1
    environment:
      REGION: us`,
	"code": `def get_weather(user, city=None):
    """Get the weather of a user."""
    result = requests.get(BASE + '/weather', params={'city': city})
    if result.status_code != 200:
        raise ValueError('no weather found')
    return result.json()`,
	"JSON": `{
  "items": [
    {"id": 1, "name": "flight", "status": "booked"},
    {"id": 2, "name": "hotel", "status": "open"}
  ],
  "total": 2
}`,
	"reply": `On Mon, Nov 23, 2026 at 9:12 AM Kim Lee <kim@example.com> wrote:
> the flight to Madrid left on time,
> and I sent the invoice yesterday.
> Could you check the hotel booking?`,
	"Chinese prose": `会议纪要：下周三之前完成翻译并发送给客户。
昨天股票下跌了百分之三，汇率没有变化。
酒店已经预订，航班在上午九点起飞。
播放列表里有二十首新歌。
天气预报说周末有雨。`,
	"English prose": `The airline announced new flights to Madrid on Tuesday. Analysts expect the stock to recover.

Heavy rain was forecast for the coast, and the match was moved. The hotel opened its doors in 1923.

Streaming services paid more for music in the last quarter. Exchange rates changed little.

The ministry published a translation of the report. Its calendar has been full since the spring.

A film about the harbour won two prizes. Its music was recorded in Rome, and the tickets were sold out for weeks.`,
	"fenced": "```\nsearch for flights\nbook the hotel now\n```\n```\nplay some music\n```",
}

// TestDivide: the request is found before, behind and between pasted text of each kind.
func TestDivide(t *testing.T) {
	for _, request := range []string{"Which of my meetings are in Berlin tomorrow?", "Convert 20 euros to dollars, please", "请帮我查一下明天北京的天气"} {
		for kind, paste := range pastes {
			for place, text := range map[string]string{
				"before": request + "\n\n" + paste, "behind": paste + "\n\n" + request, "between": paste + "\n" + request + "\n" + paste,
			} {
				p := rank.Divide(text)
				if got := strings.TrimSpace(p.Request); got != request {
					t.Errorf("%s %s: the request is %q, want %q", place, kind, got, request)
				}
				if request == "" || len(p.Material) < len(paste)*3/4 {
					t.Errorf("%s %s: the material has %d bytes of %d", place, kind, len(p.Material), len(paste))
				}
			}
		}
	}
}

// TestDivideMail: of a mail, the greeting and the signature ask for nothing.
func TestDivideMail(t *testing.T) {
	p := rank.Divide("Hi Tom,\n\nI hope you are well.\n\nCould you book a table for six at the harbour restaurant?\n\nBest regards,\nAnna Schmidt\nHead of Sales, Acme Flights GmbH\n+49 30 123456 | www.example.com\n")
	if got := strings.TrimSpace(p.Request); got != "Could you book a table for six at the harbour restaurant?" {
		t.Errorf("the request is %q", got)
	}
}

// TestWhole: a message that is nothing but a request, or nothing but material, stays whole.
func TestWhole(t *testing.T) {
	for _, text := range []string{
		"", " ", "\n\n", "weather in Berlin", "Book a flight to Rome.\nThen reserve a hotel there.",
		"Please do the following:\n1. Read the orders of today\n2. Find those that are late\n3. Send a mail to their customers",
		"I am preparing a talk about our service.\n\nFirst I need the numbers of last month, by country.\n\nYou should also compare them with the year before.\n\nPlease put all of it into one table with totals and send it to my team.",
		pastes["log"], pastes["diff"], pastes["table"], pastes["JSON"],
	} {
		if p := rank.Divide(text); p.Request != text || p.Material != "" {
			t.Errorf("%q is divided into %q and %q", text, p.Request, p.Material)
		}
	}
}

// TestMaterialCounts: the material decides among tools between which the request does not.
func TestMaterialCounts(t *testing.T) {
	index := rank.New(deals, rank.Weights{})
	with := index.Rank(rank.Query{Text: "What does this mean for us?\n\n" + strings.Repeat("ERROR [hotel] the deal of the hotel was refused id=1\n", 5)})
	for i, d := range deals {
		if strings.Contains(d.Name, "hotel") && with.Scores[i] == 0 {
			t.Errorf("%s has no score", d.Name)
		}
	}
}

// TestDivideLine: the request is found in one line with prose, a log or data.
func TestDivideLine(t *testing.T) {
	prose := strings.Join(strings.Fields(strings.ReplaceAll(pastes["English prose"], "\n", " ")), " ")
	chinese := strings.ReplaceAll(pastes["Chinese prose"], "\n", "")
	log := strings.ReplaceAll(pastes["log"], "\n", " ")
	for text, want := range map[string]string{
		"Translate this to German: " + prose:                                                           "Translate this to German:",
		prose + " Can you summarise it?":                                                               "Can you summarise it?",
		"Write a reply to this, please: \"" + prose + "\" Thanks!":                                     "Write a reply to this, please:",
		"Why does this fail " + log + " thanks":                                                        "Why does this fail",
		log + " Why does this happen?":                                                                 "Why does this happen?",
		"Which of these are open: " + strings.Join(strings.Fields(pastes["JSON"]+pastes["JSON"]), " "): "Which of these are open:",
		"请把下面的内容翻译成英文：" + chinese:                                                                      "请把下面的内容翻译成英文：",
		strings.TrimPrefix(chinese, "会议纪要：") + "请总结一下。":                                                "请总结一下。",
		"After the meeting, send the minutes to all: " + prose + prose:                                 "After the meeting, send the minutes to all:",
		"Find out when the tickets are sold, here it says: " + chinese:                                 "Find out when the tickets are sold, here it says:",
	} {
		p := rank.Divide(text)
		if got := strings.TrimSpace(p.Request); got != want {
			t.Errorf("of %.60q the request is %.120q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"I have an invoice from Acme for 1200 euros. Book it on the account of the office, then send a reminder to Tom, and tell me when the money is there. If it is not there by Friday, call them and ask Anna to open a ticket.",
		"Once the campaign is there, retrieve its clicks. After that, compare them with those of last year. Finally, create a report \"Clicks\", send it to my team, and delete the campaign with the number 17 from the list of campaigns.",
		prose,
	} {
		if p := rank.Divide(text); p.Material != "" {
			t.Errorf("%q is divided into %q and %q", text, p.Request, p.Material)
		}
	}
}

// TestContext: sentences that ask for nothing find no tool of their own, but decide where the request
// does not.
func TestContext(t *testing.T) {
	index := rank.New([]*tool.Definition{
		{Name: "book_hotel", Description: "Book a hotel."}, {Name: "find_flight", Description: "Find flights to a city."},
		{Name: "play_music", Description: "Play songs of a band."}, {Name: "request_leave", Description: "Ask for a holiday."},
		{Name: "get_rain", Description: "Tell whether it will rain."},
	}, rank.Weights{})
	for text, want := range map[string][2]int{
		"I just came back from a holiday. Find a flight to Rome.":                      {1, 3},
		"My sister plays in a band. We saw their songs in Rome. Book a hotel, please.": {0, 2},
		"My sister is in a band. Will it rain in Rome?":                                {4, 2},
		"I am on holiday in Rome. Is there a flight?":                                  {1, 3},
		"我刚度完假回来。帮我订酒店。":                                                               {0, 3},
	} {
		r := index.Rank(rank.Query{Text: text})
		if better, worse := r.Scores[want[0]], r.Scores[want[1]]; better < 2*worse || better == 0 {
			t.Errorf("%q: %v", text, r.Scores)
		}
	}
}

// FuzzDivide: nothing of a message is lost but blanks, and each part is not empty.
func FuzzDivide(f *testing.F) {
	for _, paste := range pastes {
		f.Add("Show my orders\n\n" + paste)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := rank.Divide(text)
		if p.Material == "" {
			if p.Request != text {
				t.Errorf("%q became %q", text, p.Request)
			}
			return
		}
		if strings.TrimSpace(p.Request) == "" {
			t.Errorf("%q has no request", text)
		}
		if bare := func(s string) int { return len(strings.Join(strings.Fields(s), "")) }; len(text) < 64<<10 && bare(p.Request)+bare(p.Material) != bare(text) {
			t.Errorf("of %q are left %q and %q", text, p.Request, p.Material)
		}
	})
}

// BenchmarkDivide measures messages of 200 kB.
func BenchmarkDivide(b *testing.B) {
	for kind, paste := range pastes {
		text := "Which of my meetings are in Berlin tomorrow?\n\n" + strings.Repeat(paste+"\n", 200_000/len(paste))
		b.Run(fmt.Sprint(strings.ReplaceAll(kind, " ", "_")), func(b *testing.B) {
			for b.Loop() {
				rank.Divide(text)
			}
		})
	}
}

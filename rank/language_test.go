package rank_test

import (
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// A question in a language that no tool has matches nothing, names of other languages change
// nothing, and tools in a language are found in it.
func TestLanguages(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "translate_text", Description: "Translate a text", Parameters: []byte(`{"type":"object","properties":{"to":{"type":"string","enum":["de","fr","es"]}}}`)},
		{Name: "get_weather", Description: "Weather of a city, such as Paris or Las Vegas", Translations: map[string]string{"zh": "查询天气"}},
		{Name: "book_room", Description: "Book a meeting room", Translations: map[string]string{"zh": "预订会议室"}},
		{Name: "renew_domain", Description: "Renew a domain"}, {Name: "list_reminders", Description: "List the to dos of a person"},
	}
	for question, language := range map[string]string{
		"vacaciones de": "Spanish", "Necesito unas vacaciones de dos semanas": "Spanish", "¿Cuántos días me quedan?": "Spanish", "Réserve une salle pour demain à Paris": "French", "demain à Paris": "French", "Wie wird das Wetter morgen?": "German",
		"Quero marcar uma reunião": "Portuguese", "Prenota una sala per domani": "Italian", "boek een kamer": "Dutch", "明日の会議室を予約して": "Japanese",
		"Какая завтра погода?": "Russian", "회의실 예약해 줘": "Korean", "احجز غرفة": "Arabic", "कल मौसम कैसा रहेगा": "Hindi",
	} {
		x := rank.New(tools, rank.Weights{})
		if r := x.Rank(rank.Query{Text: question}); r.Language != language || len(r.Hits(4)) > 0 {
			t.Errorf("%q is in %q, want %q, and finds %v", question, r.Language, language, r.Hits(4))
		}
	}
	for question, want := range map[string]int{
		"weather in Las Vegas": 1, "weather in Rio de Janeiro": 1, `translate "je suis fatigué" to English`: 0, "巴黎的天气": 1, "预订会议室": 2, "translate die into French": 0,
	} {
		x := rank.New(tools, rank.Weights{})
		if r := x.Rank(rank.Query{Text: question}); r.Language != "" || len(r.Hits(1)) == 0 || r.Hits(1)[0].Position != want {
			t.Errorf("%q is in %q and finds %v, want %s", question, r.Language, r.Hits(1), tools[want].Name)
		}
	}
	own := []*tool.Definition{
		{Name: "reservar_sala", Description: "Reserva una sala de reuniones"}, {Name: "pedir_vacaciones", Description: "Solicita días de vacaciones"},
		{Name: "kaigi", Description: "会議室を予約します"}, {Name: "tenki", Description: "天気を調べます"},
	}
	for question, want := range map[string]int{"quiero reservar una sala": 0, "¿cómo pido las vacaciones?": 1, "会議室を予約して": 2, "天気を調べて": 3} {
		x := rank.New(own, rank.Weights{})
		if r := x.Rank(rank.Query{Text: question}); r.Language != "" || len(r.Hits(1)) == 0 || r.Hits(1)[0].Position != want {
			t.Errorf("%q is in %q and finds %v, want %s", question, r.Language, r.Hits(1), own[want].Name)
		}
	}
}

// TestNamedInAnotherLanguage: a word of a tool's name says which tool is meant, in whatever language
// the rest of the question is.
func TestNamedInAnotherLanguage(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "get_weather", Description: "The weather of a place", Examples: []string{"weather in Paris"}}, {Name: "get_pod_logs", Description: "What a pod wrote"},
		{Name: "translate_text", Description: "Writes a text in another language", Examples: []string{"translate hola into de"}},
	}
	x := rank.New(tools, rank.Weights{})
	for question, want := range map[string]int{"wie ist das weather in Rome": 0, "zeig mir bitte die logs von checkout": 1, "muéstrame los logs del pod": 1, "demain à Paris": -1, "vacaciones de": -1} {
		got := -1
		r := x.Rank(rank.Query{Text: question})
		if hits := r.Hits(1); len(hits) > 0 {
			got = hits[0].Position
		}
		if got != want {
			t.Errorf("%q finds %d, want %d", question, got, want)
		}
	}
}

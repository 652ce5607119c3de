package rank_test

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// encoder is a fake encoder.
type encoder func(text string) []float32

// topics knows what some words mean, in two languages. Each text also has a little of its own.
func topics(text string) []float32 {
	v := noise(text)
	for i := range v {
		v[i] *= 0.3
	}
	for i, words := range []string{"weather umbrella rain regenschirm", "mail letter brief", "pod container", "invoice bill customer", "leave vacation holiday urlaub", "money refund"} {
		for word := range strings.FieldsSeq(words) {
			if strings.Contains(strings.ToLower(text), word) {
				v[i] = 1
			}
		}
	}
	return unit(v)
}

// noise says nothing about a text.
func noise(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, 64)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return unit(v)
}

// narrow has the same cosines as an encoder, between least and 1.
func (e encoder) narrow(least float64) encoder {
	return func(text string) []float32 {
		v := append([]float32{float32(math.Sqrt(least))}, e(text)...)
		for i := range v[1:] {
			v[i+1] *= float32(math.Sqrt(1 - least))
		}
		return v
	}
}

func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// rank ranks tools for a question by words and meaning.
func (e encoder) rank(tools []*tool.Definition, question string) rank.Ranking {
	q := rank.Query{Text: question}
	if e != nil {
		vectors := make([][]float32, len(tools))
		for i, d := range tools {
			vectors[i] = e(d.Name + " " + d.Description)
		}
		q.Vector, q.Vectors = e(question), rank.NewVectors(vectors)
	}
	return rank.New(tools, rank.Weights{}).Rank(q)
}

var meant = map[string]string{
	"do I need an umbrella":                 "get_weather", // no word in common
	"write a letter to somebody":            "send_mail",   // words and meaning
	"a holiday for three days":              "request_leave",
	"brauche ich einen Regenschirm":         "get_weather", // in a language that no tool has
	"show me the logs of the pod":           "get_pod_logs",
	"Urlaub im März, wie lange ist er noch": "request_leave",
}

// How near the texts of an encoder are to each other says nothing: the same encoder with all
// cosines above 0.75 chooses the same, with the same scores.
func TestCosinesAreRelative(t *testing.T) {
	t.Parallel()
	for question, want := range meant {
		wide, narrow := encoder(topics).rank(office, question), encoder(topics).narrow(0.75).rank(office, question)
		if hits := wide.Hits(1); len(hits) == 0 || office[hits[0].Position].Name != want {
			t.Errorf("%q finds %v, want %s", question, hits, want)
		}
		for i := range office {
			if diff := math.Abs(float64(wide.Scores[i] - narrow.Scores[i])); diff > 0.01 {
				t.Errorf("%q: %s has %.3f, and %.3f by the narrow encoder", question, office[i].Name, wide.Scores[i], narrow.Scores[i])
			}
		}
	}
}

// An encoder that says the same of all texts, or nothing, leaves the words alone.
func TestDeadEncoder(t *testing.T) {
	t.Parallel()
	for name, dead := range map[string]encoder{
		"same":      func(string) []float32 { return []float32{0.6, 0.8} },
		"zero":      func(string) []float32 { return []float32{0, 0} },
		"no number": func(string) []float32 { return []float32{float32(math.NaN()), 1} },
		"none":      func(string) []float32 { return nil },
		"lengths":   func(text string) []float32 { return unit(make([]float32, len(text)%7)) },
	} {
		for question := range meant {
			got, want := dead.rank(office, question), encoder(nil).rank(office, question)
			if got.Failed != nil || name != "lengths" && !slices.Equal(got.Scores, want.Scores) {
				t.Errorf("%s: %q: %v, %v, want %v", name, question, got.Scores, got.Failed, want.Scores)
			}
		}
	}
}

// Where words are sure, noise does not change which tool is first.
func TestNoiseLosesToWords(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"show me the log output of the pod containers": "get_pod_logs", "list the pods of a namespace": "list_pods", "refund the payment of a customer": "refund.payment",
		"apply for vacation with a substitute": "request_leave", "find e-mails by sender": "search_mail", "send an e-mail to somebody": "send_mail",
	} {
		for _, salt := range []string{"", "a", "b", "c", "d", "e", "f", "g"} {
			r := encoder(func(text string) []float32 { return noise(salt + text) }).rank(office, question)
			if hits := r.Hits(1); len(hits) == 0 || office[hits[0].Position].Name != want {
				t.Errorf("%s: %q finds %v, want %s", salt, question, hits, want)
			}
		}
	}
}

// Small talk is near to some tool, but does not stand out.
func TestMeaningOfSmallTalk(t *testing.T) {
	t.Parallel()
	tools := slices.Clone(office)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"} {
		tools = append(tools, &tool.Definition{Name: "get_" + name, Description: "Tell what " + name + " does"})
	}
	for _, text := range []string{"hi", "good morning", "thanks a lot", "早上好"} {
		if r := encoder(topics).rank(tools, text); len(r.Hits(1)) > 0 {
			t.Errorf("%q finds %s", text, tools[r.Hits(1)[0].Position].Name)
		}
	}
}

// A short remark finds nothing when its words are doubtful and no tool stands out by its meaning. With
// more to it, or as an answer to the assistant, its words count.
func TestRemarksFindNothing(t *testing.T) {
	t.Parallel()
	tools := append(slices.Clone(office), &tool.Definition{Name: "order_catering", Description: "Order lunch, dinner, drinks, fruit, " +
		"cutlery, napkins, flowers, tables, chairs, a tent and a cake or two for guests, a team, a board, a fair or a department on any floor."})
	vectors := make([][]float32, len(tools))
	for i, d := range tools {
		vectors[i] = topics(d.Name + " " + d.Description)
	}
	mean := make([]float32, len(vectors[0])) // as near to all of them as to any
	for _, v := range vectors {
		for i, x := range v {
			mean[i] += x
		}
	}
	index, compared := rank.New(tools, rank.Weights{}), rank.NewVectors(vectors)
	finds := func(text string, vector []float32, history ...chat.Message) bool {
		r := index.Rank(rank.Query{Text: text, Vector: vector, Vectors: compared, History: history})
		return len(r.Hits(1)) > 0
	}
	asked := []chat.Message{{Role: chat.User, Text: "lunch please"}, {Role: chat.Assistant, Text: "What would you like?"}}
	for name, c := range map[string]struct {
		text    string
		vector  []float32
		history []chat.Message
		found   bool
	}{
		"no vector":   {"I am baking a cake.", nil, nil, true},
		"a remark":    {"I am baking a cake.", unit(mean), nil, false},
		"more words":  {"I am baking a cake for the guests of the team on our floor.", unit(mean), nil, true},
		"an answer":   {"I am baking a cake.", unit(mean), asked, true},
		"it is meant": {"I am baking a cake.", vectors[len(tools)-1], nil, true},
	} {
		if found := finds(c.text, c.vector, c.history...); found != c.found {
			t.Errorf("%s: found is %v", name, found)
		}
	}
}

// TestSomeVectors: while the vectors of some tools are still to come, those that have theirs win no
// question that words answer equally well.
func TestSomeVectors(t *testing.T) {
	tools := []*tool.Definition{
		{Name: "request_leave", Description: "Ask for a holiday of some days."}, {Name: "cancel_leave", Description: "Drop a holiday of some days."},
		{Name: "get_weather", Description: "Rain."}, {Name: "send_mail", Description: "A letter."}, {Name: "stop_pod", Description: "A container."},
		{Name: "pay_invoice", Description: "Of a customer."}, {Name: "give_refund", Description: "Money."},
	}
	index := rank.New(tools, rank.Weights{})
	question := "a holiday of some days"
	for missing := range 2 {
		vectors := make([][]float32, len(tools))
		for i, d := range tools {
			if i != missing {
				vectors[i] = topics(d.Name + " " + d.Description)
			}
		}
		r := index.Rank(rank.Query{Text: question, Vector: topics(question), Vectors: rank.NewVectors(vectors)})
		with, without := r.Scores[1-missing], r.Scores[missing]
		words := index.Rank(rank.Query{Text: question})
		if with-words.Scores[1-missing] <= 0 || with > 1.05*without {
			t.Errorf("the scores are %v with a vector, %v without; by words %v", with, without, words.Scores[:2])
		}
	}
}

// Small talk and courtesy ask for nothing, whatever their vector is near to.
func TestSmallTalkHasNoMeaning(t *testing.T) {
	t.Parallel()
	near := encoder(func(string) []float32 { return topics("umbrella") }) // of every question
	vectors := make([][]float32, len(office))
	for i, d := range office {
		vectors[i] = topics(d.Name + " " + d.Description)
	}
	index := rank.New(office, rank.Weights{})
	for _, question := range []string{"hello, how are you", "thanks!", "good morning", "你好", "谢谢", "早上好", "nice to meet you", "OK",
		"Hola, ¿cómo estás?", "merci beaucoup", "À bientôt !", "Guten Morgen", "Grüß Gott, wie geht's?", "bom dia", "Buongiorno", "Спасибо",
		"おはようございます", "안녕하세요"} {
		r := index.Rank(rank.Query{Text: question, Vector: near(question), Vectors: rank.NewVectors(vectors)})
		if hits := r.Hits(3); len(hits) > 0 {
			t.Errorf("%q finds %s", question, office[hits[0].Position].Name)
		}
	}
	r := index.Rank(rank.Query{Text: "umbrella", Vector: near(""), Vectors: rank.NewVectors(vectors)})
	if len(r.Hits(1)) == 0 {
		t.Error("a question with the same vector finds nothing")
	}
}

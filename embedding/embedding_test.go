package embedding_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/embedding"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

type described struct{ d tool.Definition }

func (d described) Definition() tool.Definition { return d.d }
func (d described) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return tool.Text(""), nil
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// service is a fake server: to it a text means weather, mail or neither.
type service struct {
	mu         sync.Mutex // guards the fields below
	down       bool
	delay      time.Duration
	each       time.Duration // what a text takes
	most       int           // texts in one request
	dimensions int           // of its vectors, unless it is 0
	answer     string
	requests   int
	texts      []string // of all requests
}

// change changes the service's behaviour.
func (s *service) change(f func(*service)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// asked returns the number of requests.
func (s *service) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// ServeHTTP implements [http.Handler].
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	var q struct {
		Model string
		Input []string
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil || q.Model != "m" || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer k" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	s.most = max(s.most, len(q.Input))
	delay := s.delay + time.Duration(len(q.Input))*s.each
	s.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
	}
	s.mu.Lock()
	if s.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if s.answer != "" {
		_, _ = w.Write([]byte(s.answer))
		return
	}
	type item struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var out struct {
		Data []item `json:"data"`
	}
	for i, text := range slices.Backward(q.Input) { // not in the order of the request
		s.texts = append(s.texts, text)
		v := []float32{0.1, 0.1, 3}
		switch {
		case strings.Contains(text, "weather") || strings.Contains(text, "galoshes"):
			v = []float32{4, 0, 0.4}
		case strings.Contains(text, "mail") || strings.Contains(text, "letter"):
			v = []float32{0, 5, 0.5}
		}
		if s.dimensions > 0 {
			v = make([]float32, s.dimensions)
			v[0] = 1
		}
		out.Data = append(out.Data, item{i, v})
	}
	_ = json.NewEncoder(w).Encode(out)
}

// RoundTrip implements [http.RoundTripper] without a network, so that time
// passes under synctest.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

type bench struct {
	*embedding.Embedder
	registry *catalog.Registry
	follow   func() *selection.Selector
	log      *bytes.Buffer
}

func newBench(tb testing.TB, s *service, change func(*embedding.Config)) *bench {
	tb.Helper()
	b := &bench{registry: catalog.NewRegistry(nil), log: &bytes.Buffer{}}
	must(tb, b.registry.Register(
		described{tool.Definition{Name: "get_forecast", Description: "The weather of the next days", Risk: tool.Read}},
		described{tool.Definition{Name: "send_mail", Description: "Write to somebody", Risk: tool.Read}},
		described{tool.Definition{Name: "add_numbers", Description: "A sum of the next numbers", Risk: tool.Read}}))
	cfg := embedding.Config{BaseURL: "http://localhost/v1/", Model: "m", APIKey: "k", HTTP: &http.Client{Transport: s}, Log: slog.New(slog.NewTextHandler(b.log, nil))}
	if change != nil {
		change(&cfg)
	}
	var err error
	b.Embedder, err = embedding.New(cfg)
	must(tb, err)
	b.follow = b.Follow(selection.Follow(b.registry, selection.Config{Direct: -1}))
	return b
}

// ask returns the names of the tools that a question gets, best first.
func (b *bench) ask(text string) string {
	s := b.follow()
	sel := s.Select(selection.Request{Query: text, Vector: b.Vector(context.Background(), text, false)})
	var names []string
	for _, m := range sel.Ranked {
		names = append(names, m.Definition.Name)
	}
	return strings.Join(names, " ")
}

func TestMeaningIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		b := newBench(t, s, nil)
		defer b.Close()
		if got := b.ask("do I need galoshes"); got != "" {
			t.Errorf("before there are vectors: %q", got)
		}
		synctest.Wait()
		for text, want := range map[string]string{
			"do I need galoshes":      "get_forecast",                       // no word in common
			"the next letter":         "send_mail get_forecast add_numbers", // words and meaning
			"hello":                   "",                                   // small talk has no meaning
			"seventeen":               "add_numbers",                        // this service's idea of it
			"add numbers, and a mail": "add_numbers send_mail",
		} {
			if got := b.ask(text); got != want {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
		x := b.follow().Select(selection.Request{Query: "galoshes for the next days", Vector: b.Vector(t.Context(), "galoshes", false)}).Explain()
		v := x.Tools[0]
		if v.Tool != "get_forecast" {
			t.Errorf("v.Tool = %q, want %q", v.Tool, "get_forecast")
		}
		if v.Meaning <= 0 {
			t.Errorf("v.Meaning = %v, want more than 0", v.Meaning)
		}
		if v.Meaning >= v.Score {
			t.Errorf("v.Meaning = %v, want less than %v", v.Meaning, v.Score)
		}
		sum := x.Tools[0].Meaning
		for _, term := range x.Tools[0].Terms {
			sum += term.Score
		}
		if math.Abs(sum-x.Tools[0].Score) > 0.02 {
			t.Errorf("words and meaning make %.2f of %+v", sum, x.Tools[0])
		}
		asked := s.requests
		b.ask("do I need galoshes")
		if s.requests != asked {
			t.Error("the same question is asked about twice")
		}
		if b.Vector(t.Context(), "something new", true) != nil || s.requests != asked {
			t.Error("somebody was asked about a message that was answered before")
		}
	})
}

// A vector is kept for as long as a tool has its text.
func TestOnlyNewToolsAreComputed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state", "embeddings.jsonl")
		keep := func(c *embedding.Config) { c.File = file }
		s := &service{}
		b := newBench(t, s, keep)
		b.follow()
		synctest.Wait()
		if s.requests != 1 || len(s.texts) != 3 {
			t.Errorf("%d requests for %q", s.requests, s.texts)
		}
		must(t, b.registry.Register(described{tool.Definition{Name: "read_mail", Description: "What came in"}}))
		b.registry.Remove("add_numbers")
		b.follow()
		synctest.Wait()
		if s.requests != 2 || s.texts[3] != "read mail\nWhat came in" {
			t.Errorf("%d requests for %q", s.requests, s.texts)
		}
		must(t, b.Close())

		again := &service{}
		b = newBench(t, again, keep)
		if got := b.ask("galoshes"); got != "get_forecast" {
			t.Errorf("at once after a start: %q", got)
		}
		synctest.Wait()
		if !slices.Equal(slices.Sorted(slices.Values(again.texts)), []string{"add numbers\nA sum of the next numbers", "galoshes"}) {
			t.Errorf("asked about %q", again.texts)
		}
		must(t, b.Close())

		must(t, os.WriteFile(file, []byte("{\"model\":\"m\",\"url\":\"http://localhost/v1/embeddings\"}\n{\"hash\":\"zz\"}\n{"), 0o600))
		other := &service{}
		b = newBench(t, other, func(c *embedding.Config) { c.File, c.ReadOnly = file, true })
		b.ask("galoshes")
		synctest.Wait()
		if other.requests != 0 {
			t.Errorf("%d requests without leave to compute", other.requests)
		}
		must(t, b.Close())
	})
}

// Words rank alone whatever the server does, and the log says so once.
func TestWordsServeAlone(t *testing.T) {
	for name, spoil := range map[string]func(*service){
		"down":        func(s *service) { s.down = true },
		"slow":        func(s *service) { s.delay = time.Hour },
		"no JSON":     func(s *service) { s.answer = "<html>" },
		"no vectors":  func(s *service) { s.answer = `{"data":[]}` },
		"wrong index": func(s *service) { s.answer = `{"data":[{"index":7,"embedding":[1]}]}` },
		"odd vectors": func(s *service) { s.dimensions = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{}
				b := newBench(t, s, nil)
				b.follow()
				synctest.Wait()
				s.change(spoil)
				began := time.Now()
				for _, text := range []string{"next letter", "next galoshes", "next days"} {
					if got := b.ask(text); !strings.Contains(got, "get_forecast") || !strings.Contains(got, "add_numbers") {
						t.Errorf("%q: %q", text, got)
					}
				}
				if took := time.Since(began); took > 300*time.Millisecond {
					t.Errorf("three questions waited for %v", took)
				}
				time.Sleep(31 * time.Second) // the slow one is given up
				synctest.Wait()
				if n := strings.Count(b.log.String(), "level=WARN"); n != 1 {
					t.Errorf("%d warnings:\n%s", n, b.log)
				}
				s.change(func(s *service) { s.down, s.delay, s.dimensions, s.answer = false, 0, 0, "" })
				time.Sleep(11 * time.Second)
				synctest.Wait()
				if got := b.ask("galoshes"); got != "get_forecast" {
					t.Errorf("after the outage: %q", got)
				}
				must(t, b.Close())
			})
		})
	}
}

// Tools are requested again until the server answers.
func TestToolsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{down: true}
		b := newBench(t, s, nil)
		defer b.Close()
		b.follow()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := s.asked(); n < 2 || n > 4 {
			t.Errorf("%d attempts in a minute", n)
		}
		s.change(func(s *service) { s.down = false })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := b.ask("galoshes"); got != "get_forecast" {
			t.Errorf("%q", got)
		}
		if log := b.log.String(); strings.Count(log, "level=WARN") != 1 || strings.Count(log, "available again") != 1 {
			t.Errorf("log:\n%s", log)
		}
	})
}

// Turns select while the catalog changes and vectors arrive.
func TestManyAtOnce(t *testing.T) {
	s := &service{}
	b := newBench(t, s, nil)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 50 {
				if i == 0 {
					if err := b.registry.Register(described{tool.Definition{Name: fmt.Sprint("extra_", j%7), Description: fmt.Sprint("Comes and goes ", j)}}); err != nil {
						t.Error(err)
					}
				}
				if got := b.ask("weather"); !strings.Contains(got, "get_forecast") {
					t.Errorf("%q", got)
				}
			}
		})
	}
	all.Wait()
	must(t, b.Close())
}

func TestOverANetwork(t *testing.T) {
	var status atomic.Int64
	s := &service{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status.Add(1)
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "embeddings.jsonl")
	b := newBench(t, s, func(c *embedding.Config) {
		c.BaseURL, c.HTTP, c.File, c.Timeout = server.URL+"/v1", nil, file, time.Minute
	})
	b.follow()
	for { // until the tools' vectors are there; the test's time limit bounds it
		if _, err := os.Stat(file); err == nil {
			break
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if got := b.ask("galoshes"); got != "get_forecast" || status.Load() != 2 {
		t.Errorf("%q after %d requests", got, status.Load())
	}
	must(t, b.Close())
	if _, err := embedding.New(embedding.Config{}); err == nil {
		t.Error("no model, and no error")
	}
}

// TestSlowServer: with an encoder that takes 40 ms a text, on the CPU of the same machine,
// questions have vectors in time while the tools get theirs.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &queue{service: service{each: 40 * time.Millisecond}}
		b := newBench(t, &s.service, func(c *embedding.Config) { c.HTTP = &http.Client{Transport: s} })
		defer b.Close()
		b.follow()
		synctest.Wait()
		time.Sleep(time.Second)
		for i := range 390 {
			must(t, b.registry.Register(described{tool.Definition{Name: fmt.Sprint("tool_", i), Description: fmt.Sprint("Does the thing ", i)}}))
		}
		b.follow()
		began := time.Now()
		missed := 0
		for i := range 20 {
			time.Sleep(time.Second)
			if b.Vector(t.Context(), fmt.Sprint("question ", i), false) == nil {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("%d of 20 questions had no vector", missed)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if have, all, err := b.Progress(); have != 393 || all != 393 || err != nil {
			t.Errorf("after %v %d of %d tools have vectors, %d in one request", time.Since(began), have, all, s.most)
		}
		if strings.Contains(b.log.String(), "WARN") {
			t.Errorf("log:\n%s", b.log)
		}
	})
}

// queue is a server that answers one request after the other.
type queue struct {
	service
	turn chan struct{}
	once sync.Once
}

func (q *queue) RoundTrip(r *http.Request) (*http.Response, error) {
	q.once.Do(func() { q.turn = make(chan struct{}, 1) })
	select {
	case q.turn <- struct{}{}:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	defer func() { <-q.turn }()
	return q.service.RoundTrip(r)
}

// TestLateAnswer: an answer that comes too late is no failure. It is kept, and nobody waits behind it.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		b := newBench(t, s, nil)
		defer b.Close()
		b.follow()
		synctest.Wait()
		s.change(func(s *service) { s.delay = 2 * time.Second })
		began := time.Now()
		for _, text := range []string{"galoshes", "letter"} {
			if b.Vector(t.Context(), text, false) != nil {
				t.Errorf("%s: a vector in time", text)
			}
		}
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("the questions waited for %v", took)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		asked := s.asked()
		if b.Vector(t.Context(), "galoshes", false) == nil || s.asked() != asked || b.log.Len() > 0 {
			t.Errorf("the late vector was not kept; log: %s", b.log)
		}
	})
}

// TestPrefixes: some models want the two kinds of text to begin in a certain way, and some allow
// shorter vectors.
func TestPrefixes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		b := newBench(t, s, func(c *embedding.Config) {
			c.QueryPrefix, c.PassagePrefix, c.Dimensions = "query: ", "passage: ", 2
		})
		defer b.Close()
		b.follow()
		synctest.Wait()
		if v := b.Vector(t.Context(), "galoshes", false); len(v) != 2 || v[0] != 1 {
			t.Errorf("the vector is %v", v)
		}
		if !slices.Contains(s.texts, "query: galoshes") || !slices.Contains(s.texts, "passage: send mail\nWrite to somebody") {
			t.Errorf("asked about %q", s.texts)
		}
	})
}

// TestEncode: a measurement asks once about each text, and not again about those in the file.
func TestEncode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		cfg := embedding.Config{
			BaseURL: "http://localhost/v1", Model: "m", APIKey: "k", HTTP: &http.Client{Transport: s}, QueryPrefix: "query: ",
			File: filepath.Join(t.TempDir(), "state", "measured.jsonl"),
		}
		tools := []*tool.Definition{{Name: "get_forecast", Description: "The weather", Groups: []string{"open_data"}}, {Name: "send_mail"}}
		encode := func(questions ...string) ([][]float32, [][]float32, error) {
			return embedding.Encode(t.Context(), cfg, tools, questions, func(int, int) {})
		}
		ofTools, ofQuestions, err := encode("galoshes", "galoshes ", "a letter")
		if err != nil || len(ofTools) != 2 || len(ofQuestions) != 3 || ofTools[0][0] < 0.9 || ofQuestions[1][0] < 0.9 || ofQuestions[2][1] < 0.9 {
			t.Fatalf("%v %v %v", ofTools, ofQuestions, err)
		}
		if want := []string{"open data: get forecast\nThe weather", "query: a letter", "query: galoshes", "send mail\n"}; !slices.Equal(slices.Sorted(slices.Values(s.texts)), want) {
			t.Errorf("asked about %q, want %q", s.texts, want)
		}
		requests := s.asked()
		if _, again, err := encode("galoshes", "a letter"); err != nil || s.asked() != requests || again[0][0] < 0.9 {
			t.Errorf("%d requests more, %v", s.asked()-requests, err)
		}
		s.change(func(s *service) { s.down = true })
		if _, _, err := encode("something new"); err == nil || !strings.Contains(err.Error(), "computing the vectors: http://localhost/v1/embeddings answered with status 503") {
			t.Errorf("a server that is down: %v", err)
		}
		s.change(func(s *service) { s.down = false })
		cfg.Dimensions, requests = 2, s.asked()
		if v, _, err := encode("galoshes"); err != nil || len(v[0]) != 2 || s.asked() == requests {
			t.Errorf("vectors of another length: %v, %v", v, err)
		}
	})
}

package channel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/store"
)

// hook is a place with a webhook that reads what is posted, and answers with how much it was.
type hook struct {
	*place
	read chan error // how each reading ended
}

func (h hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h.read <- err
	fmt.Fprint(w, len(body))
	<-r.Context().Done() // the delivery is being taken
}

// Whoever posts has proved nothing when the body is read: few large ones are read at once, and
// each has to arrive in time.
func TestLargeDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		h := hook{p, make(chan error, 10)}
		w := begin(t, &store.Memory{}, channel.Account{Channel: h}, p)
		defer w.stop()
		ctx, stop := context.WithCancel(t.Context())
		post := func(size int) {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/channels/t", strings.NewReader(strings.Repeat("x", size)))
			r.SetPathValue("channel", "t")
			go w.host.ServeHTTP(httptest.NewRecorder(), r)
		}
		for range 4 {
			post(2 << 20)
			if err := <-h.read; err != nil {
				t.Fatalf("a large delivery: %v", err)
			}
		}
		post(2 << 20)
		synctest.Wait()
		select {
		case err := <-h.read:
			t.Errorf("a fifth one is read, too: %v", err)
		default:
		}
		post(1 << 20)
		if err := <-h.read; err != nil {
			t.Errorf("a small one beside them: %v", err)
		}
		if err := <-h.read; err == nil || !strings.Contains(err.Error(), "too many") {
			t.Errorf("a fifth one waits for ever: %v", err)
		}
		stop()
		synctest.Wait()
		ctx, stop = context.WithCancel(t.Context())
		defer stop()
		post(33 << 20)
		var tooLarge *http.MaxBytesError
		if err := <-h.read; !errors.As(err, &tooLarge) {
			t.Errorf("a body that is too large, after the others: %v", err)
		}
		stop()

		body, client := io.Pipe()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/channels/t", body)
		r.SetPathValue("channel", "t")
		go w.host.ServeHTTP(httptest.NewRecorder(), r)
		large := make([]byte, 2<<20)
		_, _ = client.Write(large)
		time.Sleep(time.Minute)
		go func() { _, _ = client.Write(large) }()
		if err := <-h.read; err == nil || !strings.Contains(err.Error(), "slowly") {
			t.Errorf("a body that never ends keeps its place: %v", err)
		}
		_ = body.Close()
		synctest.Wait()
	})
}

// Strangers of one account who ask for codes do not shut out those of another.
func TestPairingFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store.Memory{}
		first := begin(t, s, channel.Account{Name: "a", Pairing: true}, newPlace())
		defer first.stop()
		for i := range 150 {
			first.say(t, person(fmt.Sprint("x", i), "hello"))
		}
		second := begin(t, s, channel.Account{Name: "b", Pairing: true}, newPlace())
		defer second.stop()
		second.say(t, person("7", "hello"))
		time.Sleep(time.Second)
		if seen := second.seen("7"); len(seen) != 1 || !strings.Contains(seen[0], "code") {
			t.Errorf("seen: %q", seen)
		}
		if _, waiting, err := second.host.Pairings(t.Context()); err != nil || len(waiting) != 101 {
			t.Errorf("%d codes are open: %v", len(waiting), err)
		}
	})
}

// A platform that asks to wait is left alone, also when people write commands.
func TestAnswersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		tries := 0
		p.failing(func(channel.Outgoing) error {
			tries++
			return &channel.Limited{After: time.Hour, Err: errors.New("too many")}
		})
		for i := range 10 {
			m := person("1", "/whoami")
			m.ID = fmt.Sprint("m", i)
			w.say(t, m)
			time.Sleep(time.Minute)
		}
		if s := w.host.States()[0]; tries != 1 || s.Until.IsZero() || !strings.Contains(s.Error, "too many") {
			t.Errorf("%d tries, %+v", tries, s)
		}
	})
}

// refusing is a place with a webhook that refuses what is posted.
type refusing struct{ *place }

func (refusing) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "no", http.StatusUnauthorized)
}

// The log says that deliveries are refused, so that a wrong secret is found, and says it once a
// minute, so that strangers cannot fill it.
func TestForgedDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := begin(t, &store.Memory{}, channel.Account{}, newPlace())
		defer other.stop()
		p, e := newPlace(), &strings.Builder{}
		h, err := channel.New(channel.Config{
			Engine: other.engine, Accounts: []channel.Account{{Name: "t", Channel: refusing{p}}},
			Log: slog.New(slog.NewTextHandler(e, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); h.Run(ctx) }()
		<-p.ready
		for range 61 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/channels/t", strings.NewReader("x"))
			r.SetPathValue("channel", "t")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Fatalf("status %d", w.Code)
			}
			time.Sleep(time.Second)
		}
		stop()
		<-ended
		if said := e.String(); strings.Count(said, "deliveries were refused") != 2 || !strings.Contains(said, "deliveries=60") {
			t.Errorf("the log says: %s", said)
		}
	})
}

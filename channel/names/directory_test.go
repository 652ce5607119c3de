package names_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel/names"
)

// platform has chats with names, and says how often it was asked.
type platform struct {
	chats map[string][]names.Chat
	fails error
	asked [][]string
	log   bytes.Buffer
}

func (p *platform) find(_ context.Context, list []string) (map[string][]names.Chat, error) {
	p.asked = append(p.asked, slices.Clone(list))
	return p.chats, p.fails
}

func (p *platform) directory(configured ...string) *names.Directory {
	d := names.NewDirectory(p.find, slog.New(slog.NewTextHandler(&p.log, nil)))
	d.Keep(configured...)
	return d
}

func newPlatform() *platform {
	return &platform{chats: map[string][]names.Chat{
		"#ops": {{ID: "C1"}}, "#two": {{ID: "C2", Where: "Acme"}, {ID: "C3", Where: "Else"}}, "#out": {{ID: "C4", Outside: true}},
		"#both": {{ID: "C5", Outside: true}, {ID: "C6"}},
	}}
}

func TestID(t *testing.T) {
	t.Parallel()
	d := newPlatform().directory()
	for name, want := range map[string]string{
		"#ops": "C1", "C9": "C9", "": "", "#": "#", "*": "*", "#both": "C6",
		"#two": `2 chats have the name "#two": write the ID of the one that is meant: C2 in Acme, C3 in Else`,
		"#out": `the account is not in the chat "#out"`, "#no": `no chat that the account sees has the name "#no"`,
	} {
		got, err := d.ID(t.Context(), name)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if got := d.Match(t.Context(), []string{"C1", "#ops", "#two", "C2", "*"}, "C1", ""); !slices.Equal(got, []string{"C1", "#ops"}) {
		t.Errorf("names of C1: %q", got)
	}
	var ids *names.Directory
	ids.Keep("#ops")
	if got, err := ids.ID(t.Context(), "#ops"); got != "#ops" || err != nil || ids.Check(t.Context()) != nil {
		t.Errorf("a platform whose IDs are names: %q, %v", got, err)
	}
}

// TestKept: an answer counts for some minutes, one that is none for less, and all names of the
// configuration are asked for at once.
func TestKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		d := p.directory("#ops", "#no", "C7")
		if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), `"#no"`) || len(d.Unknown()) != 1 {
			t.Errorf("%v, %q", err, d.Unknown())
		}
		asks := func(n int, name, want string) {
			t.Helper()
			if got, _ := d.ID(t.Context(), name); got != want || len(p.asked) != n {
				t.Errorf("%q: %q, %q", name, got, p.asked)
			}
		}
		asks(1, "#ops", "C1")
		time.Sleep(time.Minute)
		asks(1, "#ops", "C1")
		p.chats["#no"] = []names.Chat{{ID: "C8"}}
		asks(2, "#no", "C8")
		if d.Check(t.Context()) != nil || len(d.Unknown()) > 0 {
			t.Errorf("%q", d.Unknown())
		}
		p.chats["#ops"] = []names.Chat{{ID: "C9"}}
		time.Sleep(5 * time.Minute)
		asks(3, "#ops", "C9")
		if strings.Join(p.asked[0], " ") != "#no #ops" || strings.Count(p.log.String(), "WARN") != 1 || strings.Count(p.log.String(), "INFO") != 3 {
			t.Errorf("asked %q, log: %s", p.asked, p.log.String())
		}
	})
}

// TestAway: while the platform is away, what it said last counts for an hour; after a new name somewhere it
// does not count any more.
func TestAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		d := p.directory("#ops")
		if got, err := d.ID(t.Context(), "#ops"); got != "C1" {
			t.Fatal(err)
		}
		p.fails = errors.New("bad gateway")
		time.Sleep(30 * time.Minute)
		if got, err := d.ID(t.Context(), "#ops"); got != "C1" || len(p.asked) != 2 {
			t.Errorf("%q, %v", got, err)
		}
		time.Sleep(31 * time.Minute)
		if got, err := d.ID(t.Context(), "#ops"); got != "" || err == nil || !strings.Contains(err.Error(), "bad gateway") {
			t.Errorf("after an hour: %q, %v", got, err)
		}
		p.fails = nil
		time.Sleep(time.Minute)
		if got, err := d.ID(t.Context(), "#ops"); got != "C1" {
			t.Fatal(err)
		}
		p.fails = errors.New("bad gateway")
		d.Forget()
		if got, err := d.ID(t.Context(), "#ops"); got != "" || err == nil {
			t.Errorf("after a new name: %q", got)
		}
	})
}

// TestBounds: names that change all the time, and made up ones, do not make the platform be asked all the time.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		d := p.directory("#ops")
		for i := range 1000 {
			d.Forget()
			_, _ = d.ID(t.Context(), fmt.Sprint("#made-up", i))
		}
		if len(p.asked) > 10 {
			t.Errorf("the platform was asked %d times", len(p.asked))
		}
		if got, err := d.ID(t.Context(), "#ops"); got != "" || err == nil || !strings.Contains(err.Error(), "too often") {
			t.Errorf("%q, %v", got, err)
		}
		time.Sleep(5 * time.Second)
		if got, err := d.ID(t.Context(), "#ops"); got != "C1" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

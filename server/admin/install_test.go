package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/server/admin"
)

// registry has one skill.
type registry struct{ installed *hub.Options }

func (registry) Find(context.Context, string, string, int) ([]hub.Match, []error) {
	return []hub.Match{{Registry: "hub", Name: "greet", Owner: "acme"}}, []error{errors.New("another does not answer")}
}

func (registry) Lookup(_ context.Context, _, words, _ string) (hub.Source, hub.Ref, error) {
	return nil, hub.Ref{Name: words}, nil
}

func (registry) Offer(context.Context, hub.Source, hub.Ref, hub.Options) (hub.Offer, error) {
	return hub.Offer{Name: "greet", Sum: "1"}, nil
}

func (r registry) Install(_ context.Context, _ hub.Source, ref hub.Ref, o hub.Options) (*hub.Installation, error) {
	*r.installed = o
	if !o.Accept {
		return nil, &hub.NeedsYesError{Name: ref.Name}
	}
	return &hub.Installation{Name: ref.Name}, nil
}

// TestInstall: a skill is installed after somebody saw its offer, never from a file of the gateway's machine,
// and then read.
func TestInstall(t *testing.T) {
	var asked hub.Options
	reloaded := ""
	a := newAPI(t, admin.Config{Registry: registry{&asked}, Reload: func(_ context.Context, by, why string) (any, error) {
		reloaded = by + ": " + why
		return nil, nil
	}})
	if status, body := ask(a.Find, "query=greet", "", "", ""); status != 200 || !strings.Contains(body, `"words":"@acme/greet"`) || !strings.Contains(body, "does not answer") {
		t.Errorf("found: %d %s", status, body)
	}
	if status, body := ask(a.Offer, "", "", "", `{"name":"greet"}`); status != 200 || !strings.Contains(body, `"sum":"1"`) {
		t.Errorf("offered: %d %s", status, body)
	}
	for body, want := range map[string]int{
		`{"name":"greet"}`:                         400, // nobody looked at it
		`{"name":"greet","sum":"1"}`:               409, // nobody accepted its flags
		`{"name":"./greet.zip","sum":"1"}`:         400,
		`{"name":"/etc","sum":"1"}`:                400,
		`{"sum":"1"}`:                              400,
		`{"name":"greet","sum":"1","accept":true}`: 200,
	} {
		asked, reloaded = hub.Options{}, ""
		status, said := ask(a.Install, "", "", "", body)
		if status != want {
			t.Errorf("%s: %d %s, want %d", body, status, said, want)
		}
		if done := reloaded == "an operator: the skill greet was installed"; done != (want == 200) {
			t.Errorf("%s: the skills were read again: %q", body, reloaded)
		}
		if want == 200 && asked.Only != "1" {
			t.Errorf("any files would be installed: %+v", asked)
		}
	}
	if status, _ := ask(newAPI(t, admin.Config{}).Install, "", "", "", `{"name":"greet","sum":"1"}`); status != 501 {
		t.Errorf("without registries: %d", status)
	}
}

package selftest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		Attack(os.Args[2:], os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

func config(t *testing.T, m sandbox.Mode) Config {
	t.Helper()
	s, err := sandbox.New(sandbox.Config{Mode: m, Dial: new(net.Dialer).DialContext})
	if err != nil {
		t.Fatal(err)
	}
	if s.Mode() != m {
		t.Fatalf("this machine cannot test mode %s: %v", m, s.Status().Missing)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{s, []string{program, "attack"}}
}

// Each attack works where there is no wall: what stops it is the wall.
func TestAttacksAreLive(t *testing.T) {
	c, err := newTrial(t.Context(), config(t, sandbox.Off))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, a := range c.attacks() {
		stopped, err := c.try(t.Context(), a)
		if err != nil || stopped {
			t.Errorf("%s: stopped %v, %v", a.name, stopped, err)
		}
		if err := c.repair(); err != nil {
			t.Fatal(err)
		}
		if a.args != nil && a.args[0] == "kill" {
			if err := c.startVictim(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	for _, m := range []sandbox.Mode{sandbox.Strong, sandbox.Landlock} {
		t.Run(string(m), func(t *testing.T) {
			r, err := Commands(t.Context(), config(t, m))
			if err != nil || r.Err() != nil {
				t.Fatal(err, r.Err())
			}
			if r.Stopped+len(r.Open) != r.Attacks || m == sandbox.Strong && len(r.Open) > 0 || r.Worked != r.Tasks {
				t.Error(r)
			}
		})
	}
}

func TestNothingToTest(t *testing.T) {
	if _, err := Commands(t.Context(), config(t, sandbox.Off)); !errors.Is(err, ErrNothingToTest) {
		t.Error(err)
	}
}

// system reaches files as programs do.
type system struct{ dir string }

func (s system) place(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return s.dir + "/" + path // not joined: .. is the system's to follow
}

func (s system) read(path string) (string, error) {
	text, err := os.ReadFile(s.place(path))
	return string(text), err
}

func (s system) write(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(s.place(path)), 0o755), os.WriteFile(s.place(path), []byte(text), 0o644))
}

func TestFiles(t *testing.T) {
	s, err := newStage()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.attackFiles(system{s.workspace}); err != nil || r.Stopped > 0 || r.Worked != r.Tasks {
		t.Errorf("without the file tools: %s, %v %q", r, err, r.Failed)
	}
	if r, err := Files(t.Context()); err != nil || r.Err() != nil {
		t.Error(err, r.Err())
	}
}

func TestRequests(t *testing.T) {
	s, err := newStage()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	service, err := s.serveSecret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return service.connect(ctx) }}}
	if r := service.attackRequests(t.Context(), plain); r.Stopped > 0 || r.Worked != r.Tasks {
		t.Errorf("without the guard: %s, %q", r, r.Failed)
	}
	plain.CloseIdleConnections()
	if r, err := Requests(t.Context()); err != nil || r.Err() != nil {
		t.Error(err, r.Err())
	}
}

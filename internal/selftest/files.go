package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/builtin"
)

// fileAccess is a way to files: that of the file tools, or in tests the system's
// own. Paths are relative to the workspace, or absolute.
type fileAccess interface {
	read(path string) (string, error)
	write(path, text string) error
}

// Files attacks the file tools, in a workspace made for it.
func Files(ctx context.Context) (Report, error) {
	s, err := newStage()
	if err != nil {
		return Report{}, err
	}
	files, err := builtin.Open(builtin.FilesConfig{Dir: s.workspace, Protected: []string{s.in("etui.yaml"), s.in("skills")}})
	if err != nil {
		return Report{}, errors.Join(err, s.Close())
	}
	s.close = append(s.close, files.Close)
	r, err := s.attackFiles(fileTools{ctx, files})
	return r, errors.Join(err, s.Close())
}

// attackFiles tries what must not be reached, and then what must work.
func (s *stage) attackFiles(a fileAccess) (r Report, err error) {
	if err := errors.Join(
		os.Symlink(s.canary, s.in("link")), os.Symlink("../out", s.in("folder")), os.Link(s.canary, s.in("second")), makeFIFO(s.in("pipe")),
	); err != nil {
		return r, fmt.Errorf("preparing the self-test: %w", err)
	}
	for _, attack := range []struct{ name, path string }{
		{"read ../ outside of the workspace", "../out/canary"},
		{"read an absolute path outside of the workspace", s.canary},
		{"read through a link to a file", "link"},
		{"read through a link to a folder", "folder/canary"},
		{"read a file under a second name", "second"},
	} {
		text, err := a.read(attack.path)
		r.attack(attack.name, err != nil && !strings.Contains(text, s.token), false, nil)
	}
	r.attack("be kept waiting by a pipe", s.returns(func() { _, _ = a.read("pipe") }), false, nil)
	for _, attack := range []struct{ name, path string }{
		{"write ../ outside of the workspace", "../out/canary"},
		{"write a new file through a link to a folder", "folder/new"},
		{"change etui.yaml", "etui.yaml"},
		{"add a skill", "skills/new.yaml"},
	} {
		err := a.write(attack.path, "changed")
		r.attack(attack.name, err != nil && !s.touched() && !s.configured(), false, nil)
		if err := s.repair(); err != nil {
			return r, err
		}
	}
	r.task("write a file and read it", a.write("notes/today.md", "hello\n"))
	text, err := a.read("notes/today.md")
	if err == nil && !strings.Contains(text, "hello") {
		err = fmt.Errorf("it holds %q", text)
	}
	r.task("read it", err)
	return r, nil
}

// patience is how long a call may take that is to return at once.
const patience = 2 * time.Second

// returns reports whether a reader of the pipe returns although nobody writes. One
// that waits is let go in the end.
func (s *stage) returns(read func()) bool {
	done := make(chan struct{})
	go func() { read(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(patience):
	}
	if w, err := os.OpenFile(s.in("pipe"), os.O_WRONLY, 0); err == nil {
		w.Close()
	}
	<-done
	return false
}

// fileTools are those that models call.
type fileTools struct {
	ctx   context.Context //nolint:containedctx // ends with the test
	files *builtin.Files
}

func (f fileTools) read(path string) (string, error) { return f.call("read_file", "path", path) }

func (f fileTools) write(path, text string) error {
	_, err := f.call("write_file", "path", path, "content", text)
	return err
}

func (f fileTools) call(name string, args ...string) (string, error) {
	given := map[string]string{}
	for i := 0; i < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return "", err
	}
	for _, t := range builtin.Tools(nil, f.files) {
		if t.Definition().Name != name {
			continue
		}
		result, err := t.Call(f.ctx, raw)
		if err == nil && result.Failed {
			err = errors.New(result.Text)
		}
		return result.Text, err
	}
	return "", fmt.Errorf("there is no tool %s", name)
}

package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// probe is a command that tries to leave the sandbox and then does an everyday
// thing. An attack that works prints OUT and what it did, or shows by what it read, wrote or
// reached.
const probe = `cat "$OUTSIDE/secret" ../outside/secret; ln -s ../outside link && cat link/secret
echo x >> "$OUTSIDE/secret"
echo x > ../outside/new && echo OUT: it made a file outside
kill -0 "$ETUI" && echo OUT: it reached the process of etui
cat "/proc/$ETUI/environ" > /dev/null && echo OUT: it read the environment of etui
bash -c "exec 3<> /dev/tcp/127.0.0.1/$PORT" || curl -s -m 1 --noproxy '*' "http://127.0.0.1:$PORT"
echo hello > made && cat made`

// tried is what the probe proves when it finds no gap.
const tried = "Tried: a command could not read or change files outside, reach the process of etui, or connect to this machine."

// plant is a command that leaves behind what etui or other programs would trust.
const plant = `printf 'sandbox: {mode: off}\n' > etui.yaml; for i in $(seq 1 1000); do : > etui-aside-$i-etui.yaml; done
mkdir .vscode; echo x > .vscode/tasks.json; rmdir memory; ln -s ../outside memory
mkdir -p bare/objects bare/refs; echo 'ref: refs/heads/main' > bare/HEAD
mkdir -p linked; echo 'ref: refs/heads/main' > linked/HEAD; echo ../bare > linked/commondir`

// swap is a command that puts another folder in the place of the workspace of another agent.
const swap = `mv inner gone; mkdir inner; ln -s ../outside inner/link; echo tried`

// guarded is what tryGuard proves when it finds no gap.
const guarded = "What etui and other programs trust is restored when a command ends. Tried: a command could not leave a changed etui.yaml, settings of an editor or a " +
	"repository of git under another name, lead the memory out of the workspace by a link, or replace the workspace of another agent inside of its own."

// tryGuard runs commands that leave something behind, in a folder made for them. The error
// says what was left. Without the guard all is: that is for the test.
func tryGuard(ctx context.Context, programs *sandbox.Sandbox, guard bool) (err error) {
	dir, err := os.MkdirTemp("", "etui-probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	workspace, inner, token := filepath.Join(dir, "ws"), filepath.Join(dir, "ws", "inner"), rand.Text()
	const configuration = "# of the doctor\n"
	if err := errors.Join(
		os.Chmod(dir, 0o711), os.Mkdir(workspace, 0o755), os.Mkdir(inner, 0o755),
		os.Mkdir(filepath.Join(workspace, "memory"), 0o755),
		os.WriteFile(filepath.Join(workspace, "etui.yaml"), []byte(configuration), 0o644),
		os.Mkdir(filepath.Join(dir, "outside"), 0o755),
		os.WriteFile(filepath.Join(dir, "outside", "MEMORY.md"), []byte(token), 0o644),
	); err != nil {
		return err
	}
	run := func(script string, own ...string) error {
		c := sandbox.Command{Args: []string{"sh", "-c", script}, Dir: workspace, Workspace: workspace,
			Limits: sandbox.Limits{Wall: 15 * time.Second}}
		if guard {
			g, err := protect.New(protect.Config{Dir: workspace, Names: []string{filepath.Join(workspace, "etui.yaml")},
				Own: own, Mode: programs.Mode()})
			if err != nil {
				return err
			}
			defer func() { _ = g.Close() }() // it only read
			c.Folder = g.Folder()
			if c.Sealed, err = g.Begin(); len(own) > 0 && err != nil {
				return nil // no command runs in such a workspace
			} else if err != nil {
				return err
			}
			defer g.End()
		}
		_, err := programs.Run(ctx, c)
		return err
	}
	before, err := os.Stat(inner)
	if err != nil {
		return err
	}
	if err := run(swap, inner); err != nil {
		return phrase.Errorf("the attack on the workspace of another agent could not be tried: %w", err)
	}
	var found gaps
	after, err := os.Stat(inner)
	found.add(err != nil || !os.SameFile(before, after), "replaced the workspace of another agent inside of its own")
	if err := run(plant); err != nil {
		return phrase.Errorf("the attacks on the workspace could not be tried: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(workspace, "etui.yaml"))
	found.add(err != nil || string(text) != configuration, "changed etui.yaml")
	found.add(folder.Exists(filepath.Join(workspace, ".vscode")), "left settings of an editor behind")
	found.add(folder.Exists(filepath.Join(workspace, "bare", "HEAD")) ||
		folder.Exists(filepath.Join(workspace, "linked", "HEAD")), "left a repository of git behind")
	m, err := memory.New(memory.Config{Workspace: workspace}).Load(time.Now(), "")
	found.add(err == nil && m.Shared.LongTerm == token, "led the memory out of its workspace")
	return errors.Join(found...)
}

// gaps are what a command could do.
type gaps []error

func (g *gaps) add(open bool, what string) {
	if open {
		*g = append(*g, phrase.Errorf("not stopped: a command %s", phrase.Text(what)))
	}
}

// try runs the probe in the sandbox, in a folder made for it. The error says what
// the sandbox let through.
func try(ctx context.Context, programs *sandbox.Sandbox) (err error) {
	dir, err := os.MkdirTemp("", "etui-probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	workspace, outside, token := filepath.Join(dir, "ws"), filepath.Join(dir, "outside"), rand.Text()
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(
		os.Chmod(dir, 0o711), // where etui is root, commands run as another user
		os.Mkdir(workspace, 0o755), os.Mkdir(outside, 0o755), os.WriteFile(secret, []byte(token), 0o644),
	); err != nil {
		return err
	}
	service, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer service.Close()
	got, err := programs.Run(ctx, sandbox.Command{
		Args: []string{"sh", "-c", probe}, Dir: workspace, Workspace: workspace,
		Limits: sandbox.Limits{Wall: 15 * time.Second},
		Env: map[string]string{"OUTSIDE": outside, "ETUI": strconv.Itoa(os.Getpid()),
			"PORT": strconv.Itoa(service.Addr().(*net.TCPAddr).Port)},
	})
	if err != nil {
		return err
	}
	reached, err := connected(ctx, service)
	if err != nil {
		return err
	}
	var found gaps
	out := got.Stdout.String()
	found.add(strings.Contains(out, token), "read a file outside its workspace")
	text, err := os.ReadFile(secret)
	found.add(err != nil || string(text) != token, "changed a file outside its workspace")
	found.add(reached, "connected to a service of this machine")
	for line := range strings.Lines(out) {
		if _, what, ok := strings.Cut(line, "OUT: it "); ok {
			found.add(true, printable.OneLine(what))
		}
	}
	if len(found) == 0 && !strings.HasSuffix(out, "hello\n") {
		return phrase.Errorf("a command could not write in its workspace: %s: %s", got.Status,
			printable.Excerpt(got.Stderr.Bytes(), nil))
	}
	return errors.Join(found...)
}

// connected reports whether anybody has connected to a service that has accepted nothing yet.
// Connections come in their order, so the first one is this one unless there was another.
func connected(ctx context.Context, service net.Listener) (bool, error) {
	own, err := new(net.Dialer).DialContext(ctx, "tcp", service.Addr().String())
	if err != nil {
		return false, err
	}
	defer own.Close()
	first, err := service.Accept()
	if err != nil {
		return false, err
	}
	defer first.Close()
	return first.RemoteAddr().String() != own.LocalAddr().String(), nil
}

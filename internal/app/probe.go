package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
)

// probe is a command that tries to leave the sandbox and then does an everyday
// thing. An attack that works prints OUT and what it did; $SECRET is printed by
// reading it only.
const probe = `cat "$OUTSIDE/secret" ../outside/secret; ln -s ../outside link && cat link/secret
echo x >> "$OUTSIDE/secret" && echo OUT: it changed a file outside
echo x > ../outside/new && echo OUT: it made a file outside
kill -0 "$ETUI" && echo OUT: it reached the process of etui
cat "/proc/$ETUI/environ" > /dev/null && echo OUT: it read the environment of etui
bash -c "exec 3<> /dev/tcp/127.0.0.1/$PORT" || curl -s -m 1 --noproxy '*' "http://127.0.0.1:$PORT"
echo hello > made && cat made`

// tried is what the probe proves when it finds no gap.
const tried = "Tried: a command could not read or change files outside, reach the process of etui, or connect to this machine."

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
	var reached atomic.Bool
	go func() {
		if c, err := service.Accept(); err == nil {
			reached.Store(true)
			c.Close()
		}
	}()
	got, err := programs.Run(ctx, sandbox.Command{
		Args: []string{"sh", "-c", probe}, Dir: workspace, Workspace: workspace, Limits: sandbox.Limits{Wall: 15 * time.Second},
		Env: map[string]string{"OUTSIDE": outside, "ETUI": strconv.Itoa(os.Getpid()), "PORT": strconv.Itoa(service.Addr().(*net.TCPAddr).Port)},
	})
	if err != nil {
		return err
	}
	out := got.Stdout.String()
	switch text, err := os.ReadFile(secret); {
	case strings.Contains(out, token):
		return errors.New("not stopped: a command read a file outside its workspace")
	case err != nil || string(text) != token:
		return errors.New("not stopped: a command changed a file outside its workspace")
	case reached.Load():
		return errors.New("not stopped: a command connected to a service of this machine")
	case strings.Contains(out, "OUT: "):
		return fmt.Errorf("not stopped: %s", printable.Excerpt(got.Stdout.Bytes(), nil))
	case !strings.HasSuffix(out, "hello\n"):
		return fmt.Errorf("a command could not write in its workspace: %s: %s", got.Status, printable.Excerpt(got.Stderr.Bytes(), nil))
	}
	return nil
}

// Package shell holds the built-in tools that run commands: exec, and
// background_output and stop_background for commands in the background. All commands
// run in the sandbox and in the workspace, where they may change everything but
// protected files.
//
//etui:tools groups=shell source=builtin version=1
package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
	"github.com/etui-run/etui/tool"
)

// Limits of commands.
const (
	maxShown    = 30 << 10      // bytes of output in a result: a turn keeps 32 KiB
	maxKept     = 256 << 10     // bytes of unread background output
	maxRunning  = 16            // background commands at once
	maxSessions = 32            // running or remembered
	maxLife     = 2 * time.Hour // of a command in the background
	maxWait     = 50            // seconds that background_output waits
)

// Config sets up a [Shell].
type Config struct {
	// Sandbox runs them.
	Sandbox *sandbox.Sandbox
	// Dir is the workspace, as an absolute path.
	Dir string
	// ReadOnly are more folders that commands may read, as absolute paths. Missing
	// ones are ignored.
	ReadOnly []string
	// Told are those of ReadOnly that the tool description names for the model.
	Told []string
	// Guard keeps the protected files of Dir unchanged.
	Guard *protect.Guard
	// Network are the hosts that commands may reach, see [sandbox.Command]; empty
	// means none. The tool description lists them for the model.
	Network []string
}

// Shell runs commands. It is safe for concurrent use.
type Shell struct {
	config  Config
	ctx     context.Context //nolint:containedctx // ends with the shell, as its commands do
	end     context.CancelFunc
	running sync.WaitGroup // commands that their callers wait for

	mu       sync.Mutex
	sessions []*session // in starting order
	begun    int
	closed   bool
}

// New returns a shell.
func New(c Config) *Shell {
	s := &Shell{config: c}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Registered returns Tools as the model sees them: exec has the time that its argument
// may ask for, and its description names the folders beside the workspace that commands
// may read and the hosts that they may reach.
func (s *Shell) Registered() []tool.Tool {
	list := Tools(s)
	hosts := printable.List(s.config.Network)
	for i, t := range list {
		d := t.Definition()
		if d.Name != "exec" {
			continue
		}
		d.Timeout = maxWall + toReturn
		if folders := printable.List(s.config.Told); folders != "" {
			d.Description += " It reads, and cannot change, " + folders + "."
			d.Translations = map[string]string{"zh": d.Translations["zh"] + "可读取（只读）：" + folders + "。"}
		}
		if hosts != "" {
			d.Description += " By HTTP and HTTPS, through the proxy in its environment, it reaches these hosts and no others: " + hosts + "."
			d.Translations = map[string]string{"zh": d.Translations["zh"] + "可通过 HTTP(S) 访问的主机：" + hosts +
				"。"}
		}
		list[i] = tool.New(d, t.Call)
	}
	return list
}

// Close ends all commands and waits until the guard has checked what they left: also for
// those whose caller has given up. It never fails.
func (s *Shell) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions := s.sessions
	s.mu.Unlock()
	s.end()
	s.running.Wait()
	for _, v := range sessions {
		v.stop()
	}
	return nil
}

type execInput struct {
	// for sh
	Command string `json:"command" minLength:"1" maxLength:"20000"`
	// folder in the workspace
	Dir string `json:"dir,omitempty"`
	// seconds
	Timeout int `json:"timeout" default:"50" minimum:"1" maximum:"600"`
	// do not wait; read on with background_output
	Background bool `json:"background,omitempty"`
}

// exec runs a shell command in the workspace, isolated from the machine.
//
//etui:tool risk=destructive
//etui:zh 在工作区的沙箱中运行 shell 命令。
//etui:alias run command, shell, bash, terminal, script, execute, install a package, run the tests, build, 运行命令, 执行脚本, 终端
func (s *Shell) exec(ctx context.Context, in execInput) (string, error) {
	dir, err := s.folder(in.Dir)
	if err != nil {
		return "", err
	}
	c := sandbox.Command{
		// Both outputs in one, in order of arrival.
		Args: []string{"sh", "-c", "exec 2>&1\n" + in.Command}, Dir: dir, Workspace: s.config.Dir,
		Folder: s.config.Guard.Folder(), ReadOnly: s.readOnly(), Network: s.config.Network, MaxOutput: maxShown,
	}
	if in.Background {
		return s.begin(ctx, c, in.Command)
	}
	c.Limits.Wall = wall(ctx, in.Timeout)
	ctx, done, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if c.Sealed, err = s.config.Guard.Begin(); err != nil {
		return "", err
	}
	c.Hold, c.Kept, c.Hidden = s.config.Guard.Hold(), s.config.Guard.Kept(), s.config.Guard.Hidden()
	r, err := s.config.Sandbox.Run(ctx, c)
	notes := guarded(s.config.Guard.End())
	if err != nil {
		return "", noted(err, notes)
	}
	text := plain(words(r.Stdout))
	if text == "" {
		text = "(no output)"
	}
	return fmt.Sprintf("%s%s\n%s", text, notes, s.ended(r)), nil
}

// enter admits a command that its caller waits for. Its context ends with the shell.
func (s *Shell) enter(ctx context.Context) (_ context.Context, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosed
	}
	s.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	release := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		release()
		cancel()
		s.running.Done()
	}, nil
}

var errClosed = errors.New("etui is shutting down")

// wall is the time limit of a command, short enough that its output so far can still
// be returned within the time of the call.
func wall(ctx context.Context, seconds int) time.Duration {
	most := time.Duration(seconds) * time.Second
	if end, ok := ctx.Deadline(); ok {
		most = min(most, max(time.Until(end)-toReturn, time.Second))
	}
	return most
}

const (
	maxWall  = 600 * time.Second // of execInput.Timeout
	toReturn = 5 * time.Second   // to end a command and return its output
)

// maxNotes is the number of the guard's notes in a result.
const maxNotes = 20

// guarded describes what the guard has restored.
func guarded(done []string) string {
	if len(done) == 0 {
		return ""
	}
	if more := len(done) - maxNotes; more > 0 {
		done = append(done[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return "\n(Protected files of the workspace were restored, because other programs or etui would trust them. Tell the user:\n- " + strings.Join(done, "\n- ") + ")"
}

// noted adds notes to an error.
func noted(err error, notes string) error {
	if notes == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, notes)
}

// noProgram is the exit status of a shell that cannot find a program.
const noProgram = 127

// ended describes how a command ended, its isolation and its network access.
func (s *Shell) ended(r sandbox.Result) string {
	how := r.Status
	switch {
	case r.Limit == sandbox.LimitTime:
		how += ": timed out; use background for long commands"
	case r.Exit == noProgram && r.Mode != sandbox.Off:
		how += ": a program was not found; sandbox.read in etui.yaml gives access to programs outside the system folders"
	case r.Limit != "":
		how += fmt.Sprintf(": the limit of %s was reached", r.Limit)
	}
	if r.Stdout.Dropped > 0 {
		how += "; write long outputs to a file, and read that"
	}
	how = fmt.Sprintf("%s, sandbox: %s", how, r.Mode)
	if len(s.config.Network) > 0 {
		how += ", network: " + printable.List(s.config.Network)
	}
	if len(r.Refused) > 0 {
		how += "; refused: " + printable.List(r.Refused) + ", not listed in sandbox.network of etui.yaml"
	}
	return "(" + how + ")"
}

// overwritten matches terminal output that later output on the same line replaces, as
// in progress displays.
var overwritten = regexp.MustCompile(`[^\n]*\r([^\r\n])`)

// plain returns output as text that reads the same without a terminal.
func plain(o sandbox.Output) string {
	text := strings.ReplaceAll(o.String(), "\r\n", "\n")
	return printable.Text(overwritten.ReplaceAllString(text, "$1"))
}

// folder returns the folder of the workspace in which a command runs. The sandbox
// checks again, so that a link created in the meantime leads nowhere.
func (s *Shell) folder(name string) (string, error) {
	if filepath.IsAbs(name) {
		below, err := filepath.Rel(s.config.Dir, name)
		if err != nil {
			return "", err
		}
		name = below
	}
	root, err := os.OpenRoot(s.config.Dir)
	if err != nil {
		return "", errors.New("the workspace does not exist")
	}
	defer root.Close()
	if info, err := root.Stat(filepath.Clean(name)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder of the workspace", name)
	}
	return filepath.Join(s.config.Dir, name), nil
}

// readOnly returns the read-only folders that exist.
func (s *Shell) readOnly() (list []string) {
	for _, path := range s.config.ReadOnly {
		if _, err := os.Stat(path); err == nil { //nolint:forbidigo // the path is the configuration's
			list = append(list, path)
		}
	}
	return list
}

// owner identifies the conversation that started a background command and may see it.
func owner(ctx context.Context) string {
	f := tool.Caller(ctx)
	return f.Agent + "\x00" + f.Session
}

// Package shell holds the built-in tools that run commands: exec, and background_output
// and stop_background for those that run on in the background. All of them run in the
// sandbox, in the workspace, which they may change but for what is protected.
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
	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/tool"
)

// Limits of commands.
const (
	maxShown    = 30 << 10      // bytes of output that one call gives: a turn keeps 32 KiB of a result
	maxKept     = 256 << 10     // bytes of output in the background that nobody has read yet
	maxSessions = 8             // commands in the background at once, and ended ones that are remembered
	maxLife     = 2 * time.Hour // of a command in the background
	maxWait     = 50            // seconds that background_output waits
)

// Config says where commands run.
type Config struct {
	// Sandbox runs them.
	Sandbox *sandbox.Sandbox
	// Dir is the workspace, as an absolute path.
	Dir string
	// ReadOnly are further folders that commands may read, as absolute paths. Those
	// that are not there are left out.
	ReadOnly []string
	// Guard keeps the protected names of Dir as they are.
	Guard *protect.Guard
	// Network are the hosts that commands may reach, see [sandbox.Command]. Empty:
	// none. The model is told of them.
	Network []string
}

// Shell runs commands. It is safe for concurrent use.
type Shell struct {
	config Config

	mu       sync.Mutex
	sessions []*session // in the order in which they began
	begun    int
	closed   bool
}

// New makes a shell.
func New(c Config) *Shell { return &Shell{config: c} }

// Registered returns the tools of a shell as the model is to see them: Tools, with
// the hosts that commands may reach.
func (s *Shell) Registered() []tool.Tool {
	list := Tools(s)
	if len(s.config.Network) == 0 {
		return list
	}
	hosts := printable.List(s.config.Network)
	for i, t := range list {
		d := t.Definition()
		if d.Name != "exec" {
			continue
		}
		d.Description += " By HTTP and HTTPS, through the proxy in its environment, it reaches these hosts and no others: " + hosts + "."
		d.Translations = map[string]string{"zh": d.Translations["zh"] + "可通过 HTTP(S) 访问的主机：" + hosts + "。"}
		list[i] = tool.New(d, t.Call)
	}
	return list
}

// Close ends all commands in the background. It never fails.
func (s *Shell) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions := s.sessions
	s.mu.Unlock()
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
//etui:alias run command, shell, bash, terminal, script, 运行命令, 执行脚本, 终端
func (s *Shell) exec(ctx context.Context, in execInput) (string, error) {
	dir, err := s.folder(in.Dir)
	if err != nil {
		return "", err
	}
	c := sandbox.Command{
		// Both outputs in one, in the order in which they come.
		Args: []string{"sh", "-c", "exec 2>&1\n" + in.Command}, Dir: dir, Workspace: s.config.Dir, ReadOnly: s.readOnly(), Network: s.config.Network, MaxOutput: maxShown,
	}
	if in.Background {
		return s.begin(ctx, c, in.Command)
	}
	c.Limits.Wall = wall(ctx, in.Timeout)
	if c.Sealed, err = s.config.Guard.Begin(); err != nil {
		return "", err
	}
	r, err := s.config.Sandbox.Run(ctx, c)
	notes := guarded(s.config.Guard.End())
	if err != nil {
		return "", noted(err, notes)
	}
	text := plain(r.Stdout)
	if text == "" {
		text = "(no output)"
	}
	return fmt.Sprintf("%s%s\n%s", text, notes, s.ended(r)), nil
}

// wall is how long a command may take: so long that what it has written until then
// is still told within the time of the call.
func wall(ctx context.Context, seconds int) time.Duration {
	most := time.Duration(seconds) * time.Second
	if end, ok := ctx.Deadline(); ok {
		most = min(most, max(time.Until(end)-2*time.Second, time.Second))
	}
	return most
}

// maxNotes is how many notes of the guard a result tells.
const maxNotes = 20

// guarded tells what the guard of the workspace has put back.
func guarded(done []string) string {
	if len(done) == 0 {
		return ""
	}
	if more := len(done) - maxNotes; more > 0 {
		done = append(done[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return "\n(Protected names of the workspace were put back, as other programs or etui would trust them. Tell the user:\n- " + strings.Join(done, "\n- ") + ")"
}

// noted adds notes to an error.
func noted(err error, notes string) error {
	if notes == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, notes)
}

// noProgram is how a shell ends that does not find a program.
const noProgram = 127

// ended says how a command ended, how it was kept apart, and what it could reach.
func (s *Shell) ended(r sandbox.Result) string {
	how := r.Status
	switch {
	case r.Limit == sandbox.LimitTime:
		how += ": its time is over; use background for what takes long"
	case r.Exit == noProgram && r.Mode != sandbox.Off:
		how += ": a program was not found; one that is installed outside of the system's folders is seen with sandbox.read in etui.yaml"
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
		how += "; refused: " + printable.List(r.Refused) + ", which sandbox.network in etui.yaml does not have"
	}
	return "(" + how + ")"
}

// overwritten is what a program has written over on one line of a terminal, as
// those do that show their progress.
var overwritten = regexp.MustCompile(`[^\n]*\r([^\r\n])`)

// plain is an output as a text that says the same without a terminal.
func plain(o sandbox.Output) string {
	text := strings.ReplaceAll(o.String(), "\r\n", "\n")
	return printable.Text(overwritten.ReplaceAllString(text, "$1"))
}

// folder is where a command runs: a folder of the workspace. The sandbox looks
// again, so that a link that comes meanwhile leads nowhere.
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
		return "", errors.New("the workspace is not there")
	}
	defer root.Close()
	if info, err := root.Stat(filepath.Clean(name)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is no folder of the workspace", name)
	}
	return filepath.Join(s.config.Dir, name), nil
}

// readOnly are the folders to read that are there.
func (s *Shell) readOnly() (list []string) {
	for _, path := range s.config.ReadOnly {
		if _, err := os.Stat(path); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// owner is who may see a command in the background: the conversation that began
// it.
func owner(ctx context.Context) string {
	f := tool.Caller(ctx)
	return f.Agent + "\x00" + f.Session
}

package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/sandbox"
)

// Config says what runs the sample of commands.
type Config struct {
	// Sandbox is what is attacked. Mode Off is nothing to attack: see Commands.
	Sandbox *sandbox.Sandbox
	// Attacker is the program, with its first arguments, that calls [Attack] with
	// the arguments behind them. Its path is absolute.
	Attacker []string
}

// ErrNothingToTest says that commands are not isolated, or do not run at all.
var ErrNothingToTest = errors.New("commands are not isolated here: there is nothing to attack")

// Commands attacks the sandbox from the inside, one command after the other; it
// takes about a second. It runs nothing where nothing is isolated.
func Commands(ctx context.Context, c Config) (Report, error) {
	switch c.Sandbox.Mode() {
	case sandbox.Off, sandbox.None:
		return Report{}, ErrNothingToTest
	}
	t, err := newTrial(ctx, c)
	if err != nil {
		return Report{}, err
	}
	r, err := t.run(ctx)
	return r, errors.Join(err, t.Close())
}

// trial is a stage with all that commands may attack.
type trial struct {
	*stage
	Config
	services
	victim *victim
	guard  *protect.Guard // nil in mode Off
}

func newTrial(ctx context.Context, c Config) (t *trial, err error) {
	s, err := newStage()
	if err != nil {
		return nil, err
	}
	t = &trial{stage: s, Config: c}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("preparing the self-test: %w", err), t.Close())
		}
	}()
	if t.services, err = s.listen(ctx); err != nil {
		return t, err
	}
	if err := t.startVictim(ctx); err != nil {
		return t, err
	}
	if mode := c.Sandbox.Mode(); mode != sandbox.Off {
		names := []string{s.in("etui.yaml"), s.in("skills"), s.in("more/skills")}
		if t.guard, err = protect.New(protect.Config{Dir: s.workspace, Names: names, Mode: mode}); err != nil {
			return t, err
		}
		t.close = append(t.close, t.guard.Close)
	}
	// Where etui is root and commands are somebody else, who may not get to it.
	if os.Geteuid() == 0 && c.Sandbox.Mode() == sandbox.Landlock {
		program := filepath.Join(s.dir, "bin", filepath.Base(c.Attacker[0]))
		t.Attacker = append([]string{program}, c.Attacker[1:]...)
		return t, copyProgram(c.Attacker[0], program)
	}
	return t, nil
}

func (t *trial) startVictim(ctx context.Context) error {
	direct, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		return err
	}
	p, err := direct.Start(ctx, sandbox.Command{
		Args: append(slices.Clone(t.Attacker), beVictim, t.token), Dir: t.dir, Env: map[string]string{"ETUI_TEST_SECRET": t.token},
	})
	if err != nil {
		return err
	}
	t.close = append(t.close, p.Close)
	t.victim, err = newVictim(p.Stdin, p.Stdout)
	return err
}

func copyProgram(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(filepath.Dir(to), 0o755), os.WriteFile(to, raw, 0o755))
}

// attack is one of the sample.
type attack struct {
	name string
	// args are what [Attack] is asked to do; script is for sh instead.
	args   []string
	script string
	limits sandbox.Limits
	hosts  []string // that the command is granted
	// worked reports whether it had an effect that it cannot tell itself.
	worked func() bool
	// open are the modes that are known not to stop it.
	open []sandbox.Mode
}

// attacks are the sample. A test proves each of them live: it works in mode Off.
func (t *trial) attacks() []attack {
	weak := []sandbox.Mode{sandbox.Landlock, sandbox.Seatbelt}
	list := []attack{
		{name: "read a file outside of the workspace", args: []string{"read", t.canary, "../out/canary"}},
		{name: "change files outside of the workspace", args: []string{"write", t.canary}, worked: t.touched},
		{name: "change etui.yaml and add a skill", args: []string{"write", t.in("etui.yaml"), t.in("skills/new.yaml")}, worked: t.configured},
		{name: "make what other programs trust", script: "mkdir -p more/skills .vscode; echo x > .envrc; echo " + tried, worked: t.trusted},
		{name: "see what other programs run", args: []string{"cat", "/proc/" + t.victim.pid + "/cmdline"}, open: weak},
		{name: "read the secrets of another program", args: []string{"memory", t.victim.pid}},
		{name: "kill another program", args: []string{"kill", t.victim.pid}, worked: func() bool { return !t.victim.lives() }},
		{name: "reach a service on this machine", args: []string{"dial", "tcp", t.tcp}},
		{name: "reach a service on this machine, where a host is granted", args: []string{"dial", "tcp", t.tcp}, hosts: []string{publicHost}},
		{name: "reach a Unix socket", args: []string{"dial", "unix", t.unix}},
		{name: "send packets to a service on this machine", args: []string{"dial", "udp", t.udp}},
		{name: "leave a program with other rights behind", args: []string{"setuid", t.in("shell")}, worked: func() bool { return isSetuid(t.in("shell")) }},
		{name: "leave a program running", args: []string{"stay", t.in("stays")}, worked: func() bool { return isLocked(t.in("stays")) }},
	}
	if runtime.GOOS == "linux" {
		list = append(list,
			attack{name: "reach an abstract socket", args: []string{"dial", "unix", t.abstract}},
			attack{name: "mount something in a user name space", args: []string{"unshare"}},
			attack{name: "take more memory than it may", args: []string{"fill", "256"}, limits: sandbox.Limits{Memory: 128 << 20}},
			attack{name: "start more programs than it may", script: "i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done; wait; echo " + reached, limits: sandbox.Limits{Processes: 16}},
		)
	}
	return list
}

// task is an everyday thing that has to work, and what it has to print.
type task struct{ name, script, prints string }

func tasks(workspace string) []task {
	list := []task{
		{"write a file in the workspace", "mkdir -p notes && echo hello > notes/file && cat notes/file", "hello\n"},
		{"run a script", `printf '#!/bin/sh\necho "script $1"\n' > run.sh && chmod 755 run.sh && ./run.sh one`, "script one\n"},
		{"use a pipe", `printf 'b\na\n' | sort | while read -r line; do echo "$line"; done`, "a\nb\n"},
		{"use a temporary file", `echo temporary > "$TMPDIR/file" && cat "$TMPDIR/file" && rm "$TMPDIR/file"`, "temporary\n"},
		{"stop a program of its own", `sleep 5 & kill $! && wait $!; echo "stopped $?"`, "stopped 143\n"},
	}
	if _, err := sandbox.Find(workspace, "python3"); err == nil {
		list = append(list, task{"use Python", `python3 -c 'print(6 * 7)'`, "42\n"})
	}
	return list
}

func (t *trial) run(ctx context.Context) (r Report, err error) {
	for _, a := range t.attacks() {
		stopped, err := t.try(ctx, a)
		r.attack(a.name, stopped, slices.Contains(a.open, t.Sandbox.Mode()), err)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err := t.repair(); err != nil {
			return r, err
		}
	}
	for _, e := range tasks(t.workspace) {
		got, err := t.guarded(ctx, t.command(sandbox.Limits{}, "sh", "-c", e.script))
		if out := got.Stdout.String(); err == nil && out != e.prints {
			err = fmt.Errorf("it printed %q and ended with %s %s", out, ending(got), sandbox.Excerpt(got.Stderr.Bytes(), nil))
		}
		r.task(e.name, err)
	}
	return r, nil
}

// try runs an attack and looks at what it has reached.
func (t *trial) try(ctx context.Context, a attack) (stopped bool, err error) {
	args := append(slices.Clone(t.Attacker), a.args...)
	if a.script != "" {
		args = []string{"sh", "-c", a.script}
	}
	c := t.command(a.limits, args...)
	c.Network = a.hosts
	got, err := t.guarded(ctx, c)
	if err != nil {
		return false, err
	}
	out := got.Stdout.String()
	switch {
	case strings.Contains(out, reached), strings.Contains(out, t.token), a.worked != nil && a.worked():
		return false, nil
	case got.Limit == sandbox.LimitTime:
		return false, fmt.Errorf("it was not over after %s", maxTrial)
	case strings.Contains(out, tried), a.limits != sandbox.Limits{}: // who reaches a limit has no last word
		return true, nil
	}
	return false, fmt.Errorf("it ended with %s %s", ending(got), sandbox.Excerpt(got.Stderr.Bytes(), nil))
}

// guarded runs a command as the exec tool does: what is protected is sealed, or put
// back when it has ended.
func (t *trial) guarded(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if t.guard == nil {
		return t.Sandbox.Run(ctx, c)
	}
	var err error
	if c.Sealed, err = t.guard.Begin(); err != nil {
		return sandbox.Result{}, err
	}
	got, err := t.Sandbox.Run(ctx, c)
	t.guard.End()
	return got, err
}

// ending says how a command ended that should have ended otherwise.
func ending(r sandbox.Result) string {
	if r.Limit != "" {
		return fmt.Sprintf("%s, at its limit of %s:", r.Status, r.Limit)
	}
	return r.Status + ":"
}

// maxTrial is how long one command of the sample may take, which on a busy machine
// is much longer than it does.
const maxTrial = 15 * time.Second

func (t *trial) command(limits sandbox.Limits, args ...string) sandbox.Command {
	limits.Wall = maxTrial
	return sandbox.Command{
		Args: args, Dir: t.workspace, Workspace: t.workspace, Limits: limits,
		ReadOnly: t.Attacker[:1],
	}
}

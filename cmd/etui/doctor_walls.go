package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/selftest"
	"github.com/etui-run/etui/sandbox"
)

// attackCommand is the attacker of the doctor's self-test, in the sandbox.
func (a *app) attackCommand() *cobra.Command {
	return &cobra.Command{
		Use: attackWord, Hidden: true, DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { selftest.Attack(args, a.in, a.out) },
	}
}

const attackWord = "attack"

// protections say what protects the user here, and whether it held when it was
// tried.
func (a *app) protections(ctx context.Context, w *workspace, b *built) (list []finding) {
	waiting := time.AfterFunc(time.Second, func() {
		if isTerminal(a.err) {
			fmt.Fprintln(a.err, "etui: trying what holds here; this takes a moment")
		}
	})
	defer waiting.Stop()
	add := func(check, says string) {
		list = append(list, finding{Check: check, OK: true, Says: says, Section: protects})
	}
	proven := func(check, says string, r selftest.Report, err error) {
		if err = errors.Join(err, r.Err()); err != nil {
			list = append(list, finding{Check: check, Says: err.Error(), Section: protects, Do: "please tell: docs/security.md says how"})
			return
		}
		add(check, says+" Tried: "+r.String()+".")
	}
	programs := b.programs.Status()
	if programs.Mode == sandbox.None {
		add("commands", strings.Join(append([]string{programs.Says}, programs.Missing...), " Not "))
	} else if programs.Mode != sandbox.Off {
		r, err := attackCommands(ctx, b.programs)
		proven("commands", strings.TrimSpace(fmt.Sprintf("Sandbox, mode %s. %s %s", programs.Mode, programs.Says, programs.Limits)), r, err)
	}
	if w.config.Tools.Builtin {
		r, err := selftest.Files(ctx)
		proven("files", fmt.Sprintf("The file tools see %s and folders of skills, and nothing else. They cannot change the configuration, the skills and etui's state.", strings.Join(workspaces(w), ", or by agent ")), r, err)
	}
	r, err := selftest.Requests(ctx)
	reach := "Tools and skills reach public addresses only, not this machine or your network"
	if len(w.config.Skills.Local)+len(w.config.Tools.Local) > 0 {
		reach += ", but for the addresses below"
	}
	proven("web", reach+".", r, err)
	add("secrets", "Keys and tokens that etui knows are taken out of results, errors, logs and records. Programs are given those that their skill names.")
	add("gateway", reachedBy(w))
	if n := len(w.config.Visibility.Rules); n > 0 {
		add("visibility", fmt.Sprintf("%s of visibility: docs/visibility.md.", count(n, "rule")))
	}
	if n := len(w.config.Policy.Rules); n > 0 {
		add("policy", fmt.Sprintf("%s about calls: docs/policy.md.", count(n, "rule")))
	}
	add("audit", "Every call of a tool or skill is recorded, allowed or refused, with who and why: etui audit.")
	return list
}

// attackCommands attacks the sandbox that is in force, by this program itself.
func attackCommands(ctx context.Context, programs *sandbox.Sandbox) (selftest.Report, error) {
	program, err := os.Executable()
	if err != nil {
		return selftest.Report{}, fmt.Errorf("finding etui's own file, which attacks: %w", err)
	}
	return selftest.Commands(ctx, selftest.Config{Sandbox: programs, Attacker: []string{program, attackWord}})
}

// reachedBy says who can use the gateway.
func reachedBy(w *workspace) string {
	switch {
	case w.config.API.Key == "":
		return w.config.Listen + " is reached from this machine only; web pages of others are refused."
	case onThisMachine(w.config.Listen):
		return w.config.Listen + " is reached from this machine only, with the API key."
	}
	return w.config.Listen + " is reached with the API key only."
}

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/sandbox"
)

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
	programs := b.programs.Status()
	says := strings.TrimSpace(fmt.Sprintf("Sandbox, mode %s. %s %s", programs.Mode, programs.Says, programs.Limits))
	switch programs.Mode {
	case sandbox.None:
		add("commands", strings.Join(append([]string{programs.Says}, programs.Missing...), " Not "))
	case sandbox.Off: // what that leaves open is listed elsewhere
	default:
		if err := try(ctx, b.programs); err != nil {
			list = append(list, finding{Check: "commands", Says: says + " " + err.Error(), Section: protects, Do: "please tell: docs/security.md says how"})
		} else {
			add("commands", says+" "+tried)
		}
	}
	if w.config.Tools.Builtin {
		add("files", fmt.Sprintf("The file tools see %s and folders of skills, and nothing else. They cannot change the configuration, the skills and etui's state.", strings.Join(workspaces(w), ", or by agent ")))
	}
	reach := "Tools and skills reach public addresses only, not this machine or your network"
	if len(w.config.Skills.Local)+len(w.config.Tools.Local) > 0 {
		reach += ", but for the addresses below"
	}
	add("web", reach+".")
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

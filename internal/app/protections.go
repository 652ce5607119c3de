package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
)

// protections lists what protects the user here, and whether it held when it was
// tried.
func (a *App) protections(ctx context.Context) (list []Finding) {
	w := a.Workspace
	add := func(check, says string) {
		list = append(list, Finding{Check: check, OK: true, Says: says, Section: Protects})
	}
	programs := a.programs.Status()
	says := strings.TrimSpace(fmt.Sprintf("Sandbox, mode %s. %s %s", programs.Mode, programs.Says, programs.Limits))
	switch programs.Mode {
	case sandbox.None:
		add("commands", strings.Join(append([]string{programs.Says}, programs.Missing...), " Not "))
	case sandbox.Off: // what that leaves open is listed elsewhere
	default:
		if err := try(ctx, a.programs); err != nil {
			list = append(list, Finding{Check: "commands", Says: says + " " + err.Error(), Section: Protects, Do: "please tell: docs/security.md says how"})
		} else {
			add("commands", says+" "+tried)
		}
	}
	if w.Config.Tools.Builtin {
		add("files", fmt.Sprintf("The file tools see %s and folders of skills, and nothing else. They cannot change the configuration, the skills and etui's state.", strings.Join(workspaces(w), ", or by agent ")))
	}
	reach := "Tools and skills reach public addresses only, not this machine or your network"
	if len(w.Config.Skills.Local)+len(w.Config.Tools.Local) > 0 {
		reach += ", but for the addresses below"
	}
	add("web", reach+".")
	add("secrets", "Keys and tokens that etui knows are taken out of results, errors, logs and records. Programs get only the ones that their skill names.")
	add("gateway", reachedBy(w))
	if n := len(w.Config.Visibility.Rules); n > 0 {
		add("visibility", fmt.Sprintf("%s of visibility: docs/visibility.md.", printable.Count(n, "rule")))
	}
	if n := len(w.Config.Policy.Rules); n > 0 {
		add("policy", fmt.Sprintf("%s about calls: docs/policy.md.", printable.Count(n, "rule")))
	}
	add("audit", "Every call of a tool or skill is recorded, allowed or refused, with who and why: etui audit.")
	return list
}

// reachedBy says from where the gateway can be used.
func reachedBy(w *Workspace) string {
	switch {
	case w.Config.API.Key == "":
		return w.Config.Listen + " is reached from this machine only; web pages of others are refused."
	case onThisMachine(w.Config.Listen):
		return w.Config.Listen + " is reached from this machine only, with the API key."
	}
	return w.Config.Listen + " is reached with the API key only."
}

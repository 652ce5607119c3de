package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
)

// protections lists what protects the user here, and whether it held when doctor tried
// it.
func (s *Subject) protections(ctx context.Context) (list []Finding) {
	w := s.Workspace
	add := func(check, says string) {
		list = append(list, Finding{Check: check, OK: true, Says: says, Section: Protects})
	}
	programs := s.Programs.Status()
	says := strings.TrimSpace(fmt.Sprintf("Sandbox, mode %s. %s %s", programs.Mode, programs.Says, programs.Limits))
	switch programs.Mode {
	case sandbox.None:
		add("commands", strings.Join(append([]string{programs.Says}, programs.Missing...), " Not "))
	case sandbox.Off: // gaps lists what that leaves open
	default:
		if err := try(ctx, s.Programs); err != nil {
			list = append(list, Finding{Check: "commands", Says: says + " " + err.Error(), Section: Protects, Do: reportIt})
		} else {
			add("commands", says+" "+tried)
		}
		if w.Config.Tools.Builtin {
			list = append(list, s.triedGuard(ctx))
		}
	}
	if w.Config.Tools.Builtin {
		also := ""
		if len(s.Readable) > 0 {
			also = " and, only to read, " + strings.Join(s.Readable, ", ")
		}
		add("files", fmt.Sprintf("The file tools see %s and the folders of skills%s, and nothing else. They cannot change the configuration, the skills or etui's state.", strings.Join(w.Folders(), ", or by agent "), also))
	}
	reach := "Tools and skills reach public addresses only, not this machine or your network"
	if len(w.Config.Skills.Local)+len(w.Config.Tools.Local) > 0 {
		reach += ", except the addresses below"
	}
	add("web", reach+".")
	add("secrets", "Keys and tokens that etui knows are taken out of results, errors, logs and records. A program gets only those that its skill names.")
	add("gateway", reachedBy(w))
	if n := len(w.Config.Visibility.Rules); n > 0 {
		add("visibility", fmt.Sprintf("%s of visibility: docs/visibility.md.", printable.Count(n, "rule")))
	}
	if n := len(w.Config.Policy.Rules); n > 0 {
		add("policy", fmt.Sprintf("%s about calls: docs/policy.md.", printable.Count(n, "rule")))
	}
	add("audit", "Every call of a tool or skill is recorded, allowed or refused, with the caller and the reason: etui audit.")
	return list
}

const reportIt = "Please report it: docs/security.md says how."

// triedGuard says whether the guard of a workspace held.
func (s *Subject) triedGuard(ctx context.Context) Finding {
	f := Finding{Check: "workspace", OK: true, Says: guarded, Section: Protects}
	if err := tryGuard(ctx, s.Programs, true); err != nil {
		f.OK, f.Says, f.Do = false, err.Error(), reportIt
	}
	return f
}

// reachedBy says who can reach the gateway.
func reachedBy(w *workdir.Workspace) string {
	switch {
	case w.Config.API.Key == "":
		return w.Config.Listen + " can be reached from this machine only; requests of foreign web pages are refused."
	case onThisMachine(w.Config.Listen):
		return w.Config.Listen + " can be reached from this machine only, with the API key."
	}
	return w.Config.Listen + " can be reached with the API key only."
}

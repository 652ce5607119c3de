package doctor

import (
	"context"
	"strings"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/phrase"
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
	says := strings.TrimSpace(s.say("Sandbox, mode %s. %s %s", programs.Mode, phrase.Word(s.Language, programs.Says),
		phrase.Word(s.Language, programs.Limits)))
	switch programs.Mode {
	case sandbox.None:
		add("commands", strings.Join(append([]string{phrase.Word(s.Language, programs.Says)}, programs.Missing...),
			s.say(" Not ")))
	case sandbox.Off: // gaps lists what that leaves open
	default:
		if err := try(ctx, s.Programs); err != nil {
			list = append(list, Finding{Check: "commands",
				Says: phrase.Join(s.Language, says, phrase.Say(s.Language, err)), Section: Protects,
				Do: s.say(reportIt)})
		} else {
			add("commands", phrase.Join(s.Language, says, s.say(tried)))
		}
		if w.Config.Tools.Builtin {
			list = append(list, s.triedGuard(ctx))
		}
	}
	if w.Config.Tools.Builtin {
		also := ""
		if len(s.Readable) > 0 {
			also = s.say(" and, only to read, %s", strings.Join(s.Readable, ", "))
		}
		add("files", s.say("The file tools see %s and the folders of skills%s, and nothing else. They cannot change the configuration, the skills or etui's state.", strings.Join(w.Folders(), s.say(", or by agent ")), also))
	}
	if len(w.Config.Skills.Local)+len(w.Config.Tools.Local) > 0 {
		add("web", s.say("Tools and skills reach public addresses only, not this machine or your network, except the addresses below."))
	} else {
		add("web", s.say("Tools and skills reach public addresses only, not this machine or your network."))
	}
	add("secrets", s.say("Keys and tokens that etui knows are taken out of results, errors, logs and records. A program gets only those that its skill names."))
	add("gateway", s.say(reachedBy(w), w.Config.Listen))
	if n := len(w.Config.Visibility.Rules); n > 0 {
		add("visibility", s.say("%s of visibility: docs/visibility.md.", phrase.Count(s.Language, n, "rule")))
	}
	if n := len(w.Config.Policy.Rules); n > 0 {
		add("policy", s.say("%s about calls: docs/policy.md.", phrase.Count(s.Language, n, "rule")))
	}
	add("audit", s.say("Every call of a tool or skill is recorded, allowed or refused, with the caller and the reason: etui audit."))
	return list
}

const reportIt = "Please report it: docs/security.md says how."

// triedGuard says whether the guard of a workspace held.
func (s *Subject) triedGuard(ctx context.Context) Finding {
	f := Finding{Check: "workspace", OK: true, Says: s.say(guarded), Section: Protects}
	if err := tryGuard(ctx, s.Programs, true); err != nil {
		f.OK, f.Says, f.Do = false, phrase.Say(s.Language, err), s.say(reportIt)
	}
	return f
}

// reachedBy says who can reach the gateway at an address.
func reachedBy(w *workdir.Workspace) string {
	switch {
	case w.Config.API.Key == "":
		return "%s can be reached from this machine only; requests of foreign web pages are refused."
	case onThisMachine(w.Config.Listen):
		return "%s can be reached from this machine only, with the API key."
	}
	return "%s can be reached with the API key only."
}

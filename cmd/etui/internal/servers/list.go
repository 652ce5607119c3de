package servers

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// notRunning is the state of a server that nothing has started yet.
const notRunning = "not running"

// Row is a server as mcp list shows it.
type Row struct {
	Name string `json:"name"`
	// State is that of the connection, that of the skill if it is not enabled, or failed
	// for a file from which no skill could be read.
	State string   `json:"state"`
	Tools []string `json:"tools"`
	// Held, Refused and LeftOut are how many more it lists, and why they are not used.
	Held    int `json:"held,omitempty"`
	Refused int `json:"refused,omitempty"`
	LeftOut int `json:"left_out,omitempty"`
	// Came says how it came: a package of npm or PyPI, a program of the machine, a service.
	Came string `json:"came"`
	File string `json:"file"`
	// Problem is why it cannot be used now.
	Problem string `json:"problem,omitempty"`
}

// List lists the servers among the skills.
func List(all admin.SkillList) []Row {
	list := []Row{}
	for _, s := range all.Skills {
		if s.Provider != "mcp" {
			continue
		}
		st := Of(s)
		l := Row{
			Name: s.Name, State: string(st.Phase), Tools: append([]string{}, st.Tools...), Held: len(st.Held),
			Refused: len(st.Refused), LeftOut: st.LeftOut,
			Came: came(st.Identity, s.Version), File: s.Source, Problem: cmp.Or(s.Error, st.Err),
		}
		switch {
		case s.State != skill.Enabled:
			l.State, l.Problem = string(s.State), cmp.Or(s.Error, s.Why)
		case st.Phase == mcp.Waiting:
			l.State = notRunning
		}
		list = append(list, l)
	}
	for _, f := range all.Failed {
		var kind struct{ Name, Provider string }
		text, err := os.ReadFile(f.Source)
		if err == nil && yaml.Load(text, &kind) == nil && kind.Provider == "mcp" {
			list = append(list, Row{Name: kind.Name, State: "failed", Tools: []string{}, File: f.Source,
				Problem: f.Error})
		}
	}
	slices.SortStableFunc(list, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// came says how a server came, by its command line or endpoint.
func came(identity, version string) string {
	registry, program := "", ""
	for word := range strings.FieldsSeq(identity) {
		if rest, ok := strings.CutPrefix(word, "{package}/node_modules/"); ok {
			parts := strings.SplitN(rest, "/", 3)
			if registry, program = "npm", parts[0]; strings.HasPrefix(program, "@") && len(parts) > 1 {
				program = path.Join(parts[:2]...)
			}
			break
		}
		if rest, ok := strings.CutPrefix(word, "{package}/bin/"); ok {
			registry, program = "PyPI", rest
			break
		}
	}
	switch {
	case registry != "":
		return strings.TrimSpace(registry + " " + program + " " + version)
	case strings.Contains(strings.SplitN(identity, " ", 2)[0], "://"):
		return "service " + identity
	}
	return "program " + identity
}

// DescribeList shows servers in a table that fits the terminal.
func DescribeList(lang string, list []Row) string {
	if len(list) == 0 {
		return phrase.In(lang, "There are no MCP servers: etui mcp add and etui mcp import add some.\n")
	}
	head := make([]string, 0, 4)
	for _, text := range []string{"SERVER", "STATE", "TOOLS", "FROM"} {
		head = append(head, phrase.Word(lang, text))
	}
	rows := [][]string{head}
	for _, l := range list {
		rows = append(rows, []string{l.Name, phrase.Word(lang, l.State), fmt.Sprint(len(l.Tools)),
			phrase.Reword(lang, printable.OneLine(l.Came))})
	}
	lines := strings.SplitAfter(terminal.Table(rows, terminal.Width()), "\n")
	text := lines[0]
	for i, l := range list {
		text += lines[i+1]
		for _, note := range l.notes(lang) {
			text += terminal.Hang("    ", terminal.ShortPath(printable.OneLine(note)), terminal.Width())
		}
	}
	if !slices.ContainsFunc(list, func(l Row) bool { return l.State != notRunning }) {
		text += phrase.In(lang, "\nNo gateway runs them now: etui serve starts it.\n")
	}
	return text
}

func (l Row) notes(lang string) (notes []string) {
	if l.Problem != "" {
		notes = append(notes, l.Problem)
	}
	for _, more := range []struct {
		count int
		why   string
	}{
		{l.Held, "%s held back, see etui skills show %s"}, {l.Refused, "%s refused, see etui skills show %s"},
		{l.LeftOut, "%s left out, see etui skills show %s"},
	} {
		if more.count > 0 {
			notes = append(notes, phrase.In(lang, more.why, phrase.Count(lang, more.count, "tool"), l.Name))
		}
	}
	return notes
}

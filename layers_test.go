package etui_test

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/etui-run/etui"

// layers says who may import whom: a package imports only packages of earlier
// lines. A pattern with a star stands for the packages directly below a folder.
// Where a line has a rule that is narrower than that, it stands in allowed.
var layers = [][]string{
	{"internal/printable"},
	{"chat", "console", "secret", "internal/atomicfile", "internal/cut", "internal/nearest", "internal/nearjson", "internal/plainjson", "internal/sleep", "internal/panics", "internal/picture", "cmd/internal/textcode", "internal/recent", "engine/internal/share", "internal/leftout", "rank/internal/lexicon", "rank/internal/deviation", "internal/htmltext", "internal/jsonsize", "internal/patternsize", "internal/ecma", "internal/egress", "internal/filestamp", "internal/origin", "cmd/internal/folder", "sandbox/internal/wire", "internal/span", "internal/tracing", "channel/markup/markuptest", "channel/names", "channel/platformtest", "examples", "channel/body", "channel/heard", "internal/charset"},
	{"phrase"},
	{"internal/pdf", "internal/rtf", "channel/feishu/feishutest", "channel/matrix/matrixtest", "channel/mattermost/mattermosttest", "channel/slack/slacktest", "channel/telegram/telegramtest", "channel/wecom/wecomtest", "scan", "channel/markup", "identity", "internal/subschema", "internal/form", "internal/terminal", "sandbox", "sandbox/internal/helper", "rules/internal/shelltext", "skill/mcp/internal/form", "skill/mcp/internal/wire", "chore", "channel/rest", "channel/edited", "channel/names"},
	{"tool", "session", "memory", "usage", "audit", "cmd/internal/config", "rank/internal/lexicon/*", "rank/internal/divide", "rank/internal/filename", "rank/internal/language", "rank/internal/pinyin", "sandbox/protect", "rules/internal/lint"},
	{"clienttool", "model", "model/schema", "route", "store", "rank", "cmd/internal/toolgen", "tool/*"},
	{"store/internal/*"},
	{"selection/meta", "store/*", "mailbox", "model/endpoint", "health"},
	{"catalog", "model/*", "examples/demo"},
	{"selection", "rules", "skill", "cmd/internal/builtin", "cmd/internal/builtin/*", "turn/internal/arguments"},
	{"chooser", "turn/internal/*", "workflow", "skill/markdown", "hub/internal/archive", "lab/eval"},
	{"prompt", "embedding", "lab/tune", "cmd/internal/enrich", "skill/mcp/oauth", "skill/mcp/oauth/oauthtest", "skill/mcp/program"},
	{"skill/*", "hub", "hub/hubtest"},
	{"turn"},
	{"approval", "contact", "learning", "live", "people", "roster", "engine/internal/follow", "engine/internal/lately", "engine/internal/metrics"},
	{"message"},
	{"agent/internal/*"},
	{"agent"},
	{"inbox"},
	{"answer", "channel/material", "order", "outbox", "subagent", "inbox/inboxtest"},
	{"inquiry"},
	{"engine"},
	{"erase", "inspect", "recall", "schedule"},
	{"command"},
	{"lab/replay", "lab/preview", "channel"},
	{".", "channel/platform"},
	{"server/wire", "channel/*"},
	{"server/*"},
	{"server"},
	{"cmd/internal/client", "cmd/internal/trust"},
	{"cmd/internal/workdir"},
	{"cmd/internal/provider", "cmd/internal/backup", "cmd/internal/nameset", "cmd/internal/rulebook"},
	{"cmd/internal/install", "cmd/internal/validate", "cmd/internal/state"},
	{"cmd/internal/doctor", "cmd/internal/tuner", "cmd/internal/login", "cmd/internal/clientconfig"},
	{"cmd/internal/app", "cmd/etui/internal/explanation"},
	{"cmd/internal/trial", "cmd/etui/internal/acp", "cmd/etui/internal/conversation", "cmd/etui/internal/help", "cmd/etui/internal/report", "cmd/etui/internal/servers", "cmd/etui/internal/top"},
	{"cmd/etui/internal/openapis"},
	{"cmd/*", "cmd/bench/*", "examples/*", "bench/*", "packaging"},
}

// allowed lists what certain packages may import at most, beside the standard
// library and other modules: these are to be usable alone.
var allowed = map[string][]string{
	"chat":      {},
	"audit":     {"internal/plainjson", "internal/printable", "secret"},
	"secret":    {"internal/printable"},
	"tool":      {"chat", "internal/ecma", "internal/plainjson", "internal/subschema"},
	"catalog":   {"chat", "tool"},
	"rank":      {"chat", "tool", "rank/internal/deviation", "rank/internal/divide", "rank/internal/filename", "rank/internal/language", "rank/internal/lexicon", "rank/internal/pinyin", "internal/panics"},
	"selection": {"chat", "tool", "catalog", "rank", "selection/meta"},
	"rules":     {"chat", "tool", "catalog", "internal/nearest", "internal/patternsize", "internal/plainjson", "rules/internal/lint", "rules/internal/shelltext"},
	"mailbox":   {"session", "store", "internal/panics", "internal/sleep"},
	"phrase":    {"internal/nearest", "internal/printable"},
	"skill":     {"chat", "secret", "tool", "catalog", "internal/egress", "internal/filestamp", "internal/form", "internal/nearest", "internal/panics", "internal/plainjson", "internal/printable", "internal/sleep"},

	"cmd/internal/trust":  {"cmd/internal/config", "cmd/internal/folder", "internal/atomicfile", "internal/cut", "internal/printable", "phrase"},
	"cmd/internal/backup": {"cmd/internal/config", "cmd/internal/folder", "cmd/internal/workdir", "phrase", "sandbox", "store/sqlite"},
}

func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen++
		name := local(p.ImportPath)
		line := lineOf(name)
		if line < 0 {
			t.Errorf("%s is missing in the table of layers", name)
			continue
		}
		for _, imported := range p.Imports {
			if imported != module && !strings.HasPrefix(imported, module+"/") {
				continue
			}
			other := local(imported)
			if lineOf(other) >= line {
				t.Errorf("%s (line %d) imports %s (line %d): imports point to earlier lines only", name, line+1, other, lineOf(other)+1)
			}
			if strings.HasPrefix(name, "internal/") && !strings.HasPrefix(other, "internal/") {
				t.Errorf("%s imports %s: internal has helpers for all rooms, which know none", name, other)
			}
			if list, ok := allowed[name]; ok && !slices.Contains(list, other) {
				t.Errorf("%s imports %s: it may import %v only", name, other, list)
			}
		}
		if name == "engine" && slices.Contains(p.Imports, "net/http") {
			t.Error("engine imports net/http: protocols belong into server")
		}
		if strings.HasPrefix(name, "channel/") && name != "channel/channeltest" && slices.ContainsFunc(p.Imports, func(i string) bool {
			return slices.Contains([]string{"catalog", "selection", "turn", "engine"}, local(i))
		}) {
			t.Errorf("%s goes around the host, in which all messages have the same rights on every channel", name)
		}
		if name == "." || name == "engine" {
			for _, imported := range p.Imports {
				if strings.HasPrefix(imported, module+"/model/") || strings.HasPrefix(imported, module+"/store/") {
					t.Errorf("%s links the adapter %s: adapters are passed in", name, imported)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

func local(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func lineOf(name string) int {
	return slices.IndexFunc(layers, func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := path.Match(p, name)
			return ok
		})
	})
}

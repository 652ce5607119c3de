package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// TestGenerated proves that the files made from the program are up to date.
// `make generate` rewrites them.
func TestGenerated(t *testing.T) {
	header := "<!-- Made by `make generate`. Change the program, not this file. -->\n"
	for path, want := range map[string]string{
		"../../docs/etui.schema.json":  string(config.Schema()),
		"../../docs/skill.schema.json": string(skill.Schema()),
		"../../docs/skill-files.md":    header + skillFilesPage + skillReference(),
		"../../docs/configuration.md":  header + configurationPage + configReference(),
		"../../docs/http-api.md":       header + httpReference(t),
		"../../docs/commands.md":       header + "# Commands\n\n" + commands(newRoot(&terminal.Console{}, nil)),
		"../../docs/builtin-tools.md":  header + "# Built-in tools\n\n" + builtinTools(t),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s is not up to date (%v): run `make generate`", path, err)
		}
	}
}

// configReference returns the keys of etui.yaml as a Markdown table.
func configReference() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	configRows(&b, reflect.TypeFor[config.Config](), "")
	return b.String()
}

func configRows(b *strings.Builder, t reflect.Type, prefix string) {
	for key, f := range form.Fields(t) {
		key, def := prefix+key, f.Tag.Get("default")
		if def != "" {
			def = "`" + def + "`"
		}
		help := f.Tag.Get("help")
		if list := f.Tag.Get("enum"); list != "" {
			help += " One of `" + strings.ReplaceAll(list, ",", "`, `") + "`."
		}
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			key, inner = key+"[]", inner.Elem()
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, def, help)
		if inner.Kind() == reflect.Struct {
			configRows(b, inner, key+".")
		}
	}
}

// skillReference returns the keys of a skill's YAML file as a Markdown table.
func skillReference() string {
	var b strings.Builder
	b.WriteString("| key | of | meaning |\n|---|---|---|\n")
	row := func(key, of string, f reflect.StructField) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, strings.ReplaceAll(of, ",", ", "), f.Tag.Get("help"))
	}
	for key, f := range form.Fields(reflect.TypeFor[skill.Config]()) {
		of := f.Tag.Get("of")
		row(key, of, f)
		if f.Type.Kind() == reflect.Struct {
			for inner, f := range form.Fields(f.Type) {
				row(key+"."+inner, of, f)
			}
		}
	}
	return b.String()
}

const configurationPage = `# Configuration

etui reads ` + "`etui.yaml`" + ` in the workspace: the folder in which it starts, or the one of ` + "`--workspace`" + `. Without the file every key has its default. An environment
variable can also set each key, and wins: ` + "`ETUI_LOG_LEVEL`" + ` is ` + "`log.level`" + `; write lists and mappings as YAML,
` + "`ETUI_SELECTION_PINNED=\"[read_file]\"`" + `. In any text ` + "`${NAME}`" + ` stands for an environment variable, which must be set; use it for keys. ` + "`${NAME:-default}`" + ` has a
default for a variable that is unset or empty; it may be empty, and may hold other references: ` + "`${A:-${B:-x}}`" + `. ` + "`$${`" + ` stands for ` + "`${`" + `. Any other reference is a mistake that
` + "`etui config validate`" + ` names. A file ` + "`.env`" + ` beside etui.yaml has ` + "`NAME=value`" + ` lines for variables that the environment lacks. Tools do not see it, and it takes effect as etui.yaml does: once
you have [confirmed](#confirming-a-configuration) it, again when a value changes, and at the next start. It cannot hold ` + "`ETUI_`" + ` variables but ` + "`ETUI_API_KEY`" + `. Commands that talk to a
running gateway of the same user need none of its variables. Line breaks and spaces around a key are dropped; etui refuses a key with a line break in it and names its variable.
` + "`etui config show`" + `, the log and errors hide the passwords and keys in addresses. Beside ` + "`etui.yaml`" + `, an [` + "`AGENTS.md`" + `](memory.md) in the workspace says how its agents work.
` + "`etui config validate`" + ` checks the file and every name in it. Editors can use the [JSON Schema](etui.schema.json):

` + "```yaml" + `
# yaml-language-server: $schema=https://raw.githubusercontent.com/etui-run/etui/main/docs/etui.schema.json
models:
  - name: main
    provider: openai
    base_url: http://127.0.0.1:11434/v1
    model: qwen3
` + "```" + `

A key that ends in [] belongs to each item of a list. A change of a key takes effect at the next start, unless the key, or the one it is in, says that it does
while etui serves. ` + "`etui status`, `etui doctor`" + ` and the log name the keys that wait for the next start.

## Confirming a configuration

A folder that you have cloned or unpacked may bring an etui.yaml and skills of somebody else. So etui asks once before it uses a configuration that nobody on this machine has confirmed and that could do
something to you: switch the sandbox off, send variables (` + "`${NAME}`" + `) somewhere, name hosts or addresses, reach folders outside of its own, bring a state folder, open channels, or bring skills as YAML files. The question lists
that, a line each. Until somebody has said yes, nothing of it is in effect.

- At a terminal etui asks. Everywhere else it ends with the list and the exit code 2; ` + "`etui config trust`" + ` confirms the configuration as it is.
- ` + "`etui config validate` and `etui doctor`" + ` do not ask: they check what can be checked without using anything of the configuration, and say that it waits to be confirmed.
- For services, containers and CI, ` + "`ETUI_TRUST`" + ` lists configurations, or folders that hold them at any depth, as absolute paths with ` + "`:`" + ` between them. The packages and images list /etc/etui/etui.yaml.
- A configuration that ` + "`etui init`" + ` writes is confirmed, and so is a change that ` + "`etui config apply`" + ` accepts. A folder with nothing to confirm needs no question, and skills that you add there later need none.
- etui asks about a change only if it allows more than before. You can change instructions, rules and names freely. A running gateway keeps what was in effect until the change is confirmed, and says so in its
  log, in ` + "`etui status`" + ` and in ` + "`etui doctor`" + `. Then it takes the change up by itself.

Confirmations are kept in the user's state folder, in ` + "`etui/trust`" + `, by the path of the configuration and the workspace. [Why it works like this](decisions/0028-when-is-a-configuration-trusted.md).

## Keys

`

const skillFilesPage = `# Skills as YAML files

A YAML file in the folder ` + "`skills`" + ` is a skill. etui loads it within a second, and follows every change of the file until it is deleted.

<!-- test: env TOKEN=t -->
` + "```yaml" + `
# yaml-language-server: $schema=https://raw.githubusercontent.com/etui-run/etui/main/docs/skill.schema.json
name: search_logs
description: Searches the logs of a Kubernetes pod.
provider: http
endpoint: http://127.0.0.1:8081/execute
timeout: 30
headers:
  Authorization: Bearer ${TOKEN}
risk_level: read
parameters:
  type: object
  properties:
    namespace: {type: string, description: Namespace of the pod}
    pod: {type: string, description: Name of the pod}
  required: [namespace, pod]
` + "```" + `

## Where files are looked for

- YAML files, ` + "`*.yaml` or `*.yml`" + `, must be directly in a skill folder; folders with a ` + "`SKILL.md`" + ` directly in it or up to three folders deeper. etui skips names
  that begin with a dot. A skill folder that does not exist yet may be created later.
- The folder, and the targets of links in it, must be inside the workspace; etui.yaml names the folders for all workspaces. etui refuses files outside, pipes, devices,
  folders, and files with a second name (a hard link).
- etui watches the folders, and also looks at everything every 2 to 4 seconds, which covers network folders and mounted configurations.
- A broken file changes nothing: the last good version stays in effect, and ` + "`etui skills list`" + ` says why. ` + "`etui skills validate`" + ` checks files beforehand.

## What is refused

etui reads files strictly, so that they mean what they seem to. A file is one YAML document in UTF-8
of at most 256 kB and 10,000 keys and values: one mapping, with nothing nested deeper than 40. Tags,
repeated keys and unknown keys are errors. Limits apply to aliases and merge keys as if they were
written out. Texts are texts and numbers are numbers; only a version may be either. A folder may contain 20,000 YAML files and folders, and 200,000 names in all.

etui replaces ` + "`${NAME}`" + ` by the environment variable in the values of ` + "`headers` and `env`" + `, and nowhere else, and does not expand the result again. A skill is not
loaded if a variable is unset, empty or contains a line break, or if it is one of etui's own - ` + "`OPENAI_API_KEY`, `ANTHROPIC_API_KEY` and `ETUI_…`" + ` - unless
` + "`skills.env`" + ` in etui.yaml names it. Connection headers (Host, Content-Length, Transfer-Encoding and such) cannot be set.

` + "`parameters`" + ` may refer to itself (` + "`#/$defs/…`" + `), but to no other document.

## Keys

"of" names the providers that use a key; a key without it belongs to all. [Turns that survive](turns.md#after-a-crash) explains ` + "`replay`" + `.

`

const builtinToolsPage = `etui has these tools unless etui.yaml says ` + "`tools.builtin: false`" + `. ` + "`tools.disabled`" + ` switches single tools or groups off, without a restart, and
[visibility](visibility.md) decides who may see which. A question gets only the tools that it needs. All of them are [plain Go functions](tools-in-go.md).

- **Files**: the tools read and write in the workspace, and also read in skill folders and [folders beside the workspace](#folders-beside-the-workspace). They follow links inside the workspace only, and do not read devices, pipes and
  files with a second name elsewhere (hard links). They read, but do not change, what other programs trust: etui.yaml, skills, ` + "`.git/hooks`, `.git/config`, `.vscode`, `.envrc`" + ` and such.
  They replace a file in one step, keep its mode, line ends and encoding (UTF-8, UTF-16, GB18030, Windows-1252), and never undo somebody else's edit. They edit texts up
  to 1 MiB; from longer ones, up to 64 MiB, they read parts and find lines.
- **Results** have at most 30 KiB, less than what a turn keeps of one (` + "`limits.result`" + `, 32 KiB), and end with how to get the rest. A search covers 50,000 files and
  folders and 256 MiB, and finds 100 lines, or 500 names.
- **Pictures**: read_image shows pictures of at most 20 MiB and 30 million pixels. It shrinks one of more than 3 MiB or 8000 pixels on a side; it refuses a WebP of that
  size. OpenAI's and Anthropic's models see the picture in the turn that asked for it. etui does not store it.
- **Web**: the tools reach public addresses, and those of ` + "`tools.local`" + `. They read 5 MiB of a page, within 30 seconds and 5 redirects. web_search exists if
  ` + "`tools.search`" + ` names a service: Perplexity, Brave, SearXNG or DuckDuckGo. Each service has 12 seconds before etui asks the next one.
- **Shell**: commands run in the workspace, inside the [sandbox](sandbox.md), and reach only the hosts of ` + "`sandbox.network`" + `; every result names the mode. The tools exist
  if the sandbox can run programs. In every mode, what other programs trust stays unchanged: see [protected names](sandbox.md#protected-names). In the background, 16
  commands may run, for 2 hours each, shared by the conversations; only the conversation that started one sees it.
- **An agent** can have its own files, commands and memory: ` + "`workspace`" + ` of [its configuration](configuration.md) names a folder, in or beside the workspace.
- **Skills**: ` + "`skills.model`" + ` decides whether the model may find and install skills: ` + "`off`, `find` or `install`" + `. Both search the registries of
  ` + "`skills.registries`" + `; the model cannot install what needs a person's yes. ` + "`tools.builtin`" + ` does not affect these tools.

`

// reachingPage introduces the tools of package meta, and declared says when a request
// contains each of them.
const reachingPage = `
## Folders beside the workspace

<!-- test: mkdir home/docs shared-notes w
env HOME=$WORK/home
cd w -->
` + "```yaml" + `
tools:
  read: [~/docs, ../shared-notes]   # absolute, with ~/, or relative to etui.yaml
` + "```" + `

The tools that read files, and commands of ` + "`exec`" + `, also read these folders, by absolute path; nothing writes there, except commands in the sandbox's mode ` + "`off`" + `. The descriptions of
these tools name the folders, so that the model knows them. Links do not lead out of a folder. etui does not start when a folder is missing, or when it is one that programs cannot
be given either: home folders, keys and logins, etui's configuration and state, the workspace of an agent ([the list](sandbox.md#programs-outside-usr)). [Rules](policy.md) see one name of a file,
without links. At most 10 folders, for all agents; changes take effect at the next start.

## Tools that reach others

With these a model reaches tools that it was not sent. They are in no group, and nothing hides them; they find, describe, call and take up only what the caller may use.
With ` + "`selection.off: true`" + ` there are none. [Delivery](delivery.md) describes the modes.

`

var declared = map[string]string{
	selection.FindTools:    "in the modes preselect, bridge and native",
	selection.CallTool:     "in the modes preselect, bridge and native",
	selection.DescribeTool: "in the mode bridge",
	selection.FinishPhase:  "in every mode, while a [workflow](workflows.md) runs",
	selection.UseSkill:     "in every mode, when there is a skill that the caller may take up",
}

// commands lists the sub-commands with their flags.
func commands(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Name() == "help" || sub.Name() == "completion" || sub.Hidden {
				continue
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(sub.UseLine(), "|", `\|`), sub.Short)
			walk(sub)
		}
	}
	walk(root)
	b.WriteString("\nEvery command takes `--json`, `--workspace`, `--config`, `--demo` and `--url`; `--help` lists the rest. `etui completion` writes\ncompletions for bash, zsh, fish and PowerShell, and `etui man` the man page. Exit codes: 0, 1 (failed), 2 (called or set up wrongly).\n")
	return b.String()
}

func builtinTools(t *testing.T) string {
	var b strings.Builder
	b.WriteString(builtinToolsPage)
	b.WriteString("| tool | groups | risk | tokens | what the model reads |\n|---|---|---|---|---|\n")
	total := 0
	list := nameset.Builtin()
	slices.SortStableFunc(list, func(a, b tool.Definition) int {
		return cmp.Or(slices.Compare(a.Groups, b.Groups), strings.Compare(a.Name, b.Name))
	})
	for _, d := range list {
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		total += chat.Tokens(raw)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d | %s |\n", d.Name, strings.Join(d.Groups, ", "), d.Risk, chat.Tokens(raw), d.Description)
	}
	fmt.Fprintf(&b, "\nTogether %d tokens (estimated), if all of them were sent.\n", total)
	b.WriteString(reachingPage + "| tool | declared | tokens | what the model reads |\n|---|---|---|---|\n")
	for _, d := range meta.Definitions() {
		raw, err := json.Marshal(d)
		if err != nil || declared[d.Name] == "" {
			t.Fatalf("%s: %v", d.Name, err)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s |\n", d.Name, declared[d.Name], chat.Tokens(raw), d.Description)
	}
	return b.String()
}

// TestCompletionsAndHelp: they are there and not empty.
func TestCompletionsAndHelp(t *testing.T) {
	for _, args := range [][]string{{"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"completion", "powershell"}, {"--help"}, {"select", "--help"}} {
		var out bytes.Buffer
		if code := run(context.Background(), args, &terminal.Console{In: strings.NewReader(""), Out: &out, Err: &out}); code != exitOK || out.Len() < 200 {
			t.Errorf("%v: code %d, %d bytes", args, code, out.Len())
		}
	}
}

// TestSecurityPage proves that the tests exist that the page names.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	err = fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)\w+`).FindAllString(string(page), -1) {
		if !tests[name] {
			t.Errorf("docs/security.md names %s, which is no test and no fuzz target", name)
		}
	}
}

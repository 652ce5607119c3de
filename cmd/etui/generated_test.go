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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/config"
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
		"../../docs/skill-files.md":    header + skillFilesPage + skill.Reference(),
		"../../docs/configuration.md":  header + configurationPage + config.Reference(),
		"../../docs/commands.md":       header + "# Commands\n\n" + commands(newRoot(streams{}, nil)),
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

const configurationPage = `# Configuration

etui reads ` + "`etui.yaml`" + ` in the workspace: the folder it is started in, or that of ` + "`--workspace`" + `. Without the file everything has its default
value. Every key can also be set as an environment variable, which wins: ` + "`ETUI_LOG_LEVEL`" + ` is ` + "`log.level`" + `; lists and mappings are written as YAML,
` + "`ETUI_SELECTION_PINNED=\"[read_file]\"`" + `. In any text ` + "`${NAME}`" + ` stands for an environment variable, which must be set; that is how keys get in.
` + "`etui config validate`" + ` checks the file and every name in it. For editors there is a [JSON Schema](etui.schema.json):

` + "```yaml" + `
# yaml-language-server: $schema=https://raw.githubusercontent.com/etui-run/etui/main/docs/etui.schema.json
models:
  - name: main
    provider: openai
    base_url: http://127.0.0.1:11434/v1
    model: qwen3
` + "```" + `

A key that ends in [] belongs to each item of a list.

`

const skillFilesPage = `# Skills as YAML files

A file in the folder ` + "`skills`" + ` is a skill: it is there within a second, changes when the file changes and goes when it goes.

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

- YAML files, ` + "`*.yaml` or `*.yml`" + `, lie in a folder of skills itself; folders with a ` + "`SKILL.md`" + ` in it or up to three folders deeper. Names that
  begin with a dot are not looked at. A folder that does not exist is one that may come.
- The folder, and what links in it lead to, must lie in the workspace; folders for all workspaces are named in etui.yaml. What lies outside, is a pipe, a device
  or a folder, or has a second name (a hard link) is refused.
- The system tells of changes; besides, everything is looked at every 2 to 4 seconds, which is enough for network folders and mounted configurations.
- A file that cannot be used changes nothing: what was in force stays, and ` + "`etui skills list`" + ` says why. ` + "`etui skills validate`" + ` checks files beforehand.

## What is refused

Files are read strictly, so that they mean what they seem to: one YAML document in UTF-8 of at most 256 kB and 10,000 keys and values, one mapping, nothing nested
deeper than 40; no tags or repeated keys; aliases and merge keys count as if they were written out; no unknown keys; texts are texts and numbers are numbers (a version counts as it is written).
A folder may hold 20,000 YAML files and folders, and 200,000 names in all.

` + "`${NAME}`" + ` is replaced by the environment variable in the values of ` + "`headers` and `env`" + `, and nowhere else. What it holds is not looked at again. A
variable that is not set, is empty or holds a line break keeps the skill from being loaded, and so do ` + "`OPENAI_API_KEY`, `ANTHROPIC_API_KEY` and `ETUI_…`" + `,
etui's own, unless ` + "`skills.env`" + ` in etui.yaml names them. Headers of the connection (Host, Content-Length, Transfer-Encoding and such) cannot be set.

` + "`parameters`" + ` may refer to itself (` + "`#/$defs/…`" + `), but to no other document.

## Keys

"of" names the providers that a key belongs to; without, it belongs to all. [Turns that survive](turns.md#after-a-crash) explains ` + "`replay`" + `.

`

const builtinToolsPage = `What etui brings, unless ` + "`tools.builtin: false`" + ` is in etui.yaml; ` + "`tools.disabled`" + ` switches single tools or groups off, and
[visibility](visibility.md) says who may see which. Only what a question needs is sent. They are written as
[plain Go functions](tools-in-go.md).

- **Files** are those of the workspace, and for reading also those of folders of skills. Links are followed inside the workspace, and lead nowhere else; devices, pipes
  and files with a second name elsewhere (hard links) are not read. What other programs trust - etui.yaml, skills, ` + "`.git/hooks`, `.git/config`, `.vscode`, `.envrc`" + ` and
  such - is read, but not changed. Files are replaced in one step, keep their mode, their line ends and the code in which they are written (UTF-8,
  UTF-16, GB18030, Windows-1252), and an edit never undoes somebody else's. Texts up to 1 MiB are
  edited; of longer ones, up to 64 MiB, parts are read and lines found.
- **Results** have at most 30 KiB, less than what a turn keeps of one (` + "`limits.result`" + `, 32 KiB), and say at their end how to get the rest. A search looks at 50,000 files and
  folders and 256 MiB; it finds 100 lines, or 500 names.
- **Pictures** that read_image shows, of 20 MiB and 30 million pixels at most, are made smaller when they have more than 3 MiB or 8000 pixels on a side; WebP is not, and is refused then. They are seen by OpenAI's and Anthropic's models in the turn that asked for them. They are not stored.
- **Web** reaches public addresses only, besides those of ` + "`tools.local`" + `. Of a page 5 MiB are read, within 30 seconds and 5 redirects. web_search is there when ` + "`tools.search`" + ` names a service; each one has
  12 seconds before the next one is asked: Perplexity, Brave, SearXNG, DuckDuckGo.
- **Shell** runs commands in the workspace, inside the [sandbox](sandbox.md), without a network but for the hosts of ` + "`sandbox.network`" + `; every result
  says in which mode. It is there when the sandbox runs programs. What other programs trust
  stays as it is in every mode: see [protected names](sandbox.md#protected-names). In the background 8 commands may run, for 2 hours each, and only the conversation that began one sees it.
- **An agent** can have files, commands and memory of its own: ` + "`workspace`" + ` of [its configuration](configuration.md) names a folder, in or beside the workspace.
- **Skills** are found and installed by the model as far as ` + "`skills.model`" + ` says: ` + "`off`, `find` or `install`" + `. Both ask the registries of ` + "`skills.registries`" + `; what
  needs somebody's yes is not installed. ` + "`tools.builtin`" + ` has no say in them.

`

// reachingPage leads to the tools of package meta, and declared says when each of
// them stands in a request.
const reachingPage = `
## Tools that reach others

With these a model reaches what it was not sent. They are in no group, and nothing hides them: what they find, describe, call and take up is only what the caller may
use. With ` + "`selection.off: true`" + ` there are none. [Delivery](delivery.md) tells of the modes.

`

var declared = map[string]string{
	selection.FindTools:    "in the modes preselect, bridge and native",
	selection.CallTool:     "in the modes preselect, bridge and native",
	selection.DescribeTool: "in the mode bridge",
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
			fmt.Fprintf(&b, "| `%s` | %s |\n", sub.UseLine(), sub.Short)
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
	var list []tool.Definition
	for _, tl := range app.Builtin() {
		list = append(list, tl.Definition())
	}
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
		if code := run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &out}); code != exitOK || out.Len() < 200 {
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
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\bTest\w+`).FindAllString(string(page), -1) {
		if !tests[name] {
			t.Errorf("docs/security.md names %s, which is no test", name)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/toolgen"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

const (
	unitTests = "examples/unittest"
	sample    = unitTests + "/samples/go"
)

// measureTests measures the unit-test agent on its Go sample. It runs the program once, with
// the scripted answers, the real compiler and real coverage, and then plays the run again with
// what the tools gave.
func measureTests(out io.Writer) (err error) {
	gave, err := runTests()
	if err != nil {
		return err
	}
	return inHome(func() error {
		dir, err := filepath.Abs(unitTests)
		if err != nil {
			return err
		}
		w, err := workdir.Open(unitTests, "",
			append(os.Environ(), trust.Variable+"="+dir, "ANTHROPIC_API_KEY=unused", "OPENAI_API_KEY=unused"))
		if err != nil {
			return err
		}
		a, err := app.New(context.Background(), w, app.Config{Secrets: &secret.Set{}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		played, err := script.Read(sample + ".script")
		if err != nil {
			return err
		}
		made, err := toolgen.Generate(context.Background(), unitTests, "./work")
		if err != nil {
			return err
		}
		again := &replayed{gave: gave}
		b := bench{
			app: a, name: "unittest", text: "Write unit tests for rate/rate.go until they cover 80 % of its branches.",
			target: "rate/rate.go",
			params: map[string]string{"goal": "80", "mutants": "60"}, script: played.Script(), begin: again.begin,
		}
		for _, d := range made[0].Tools {
			b.tools = append(b.tools, d.Name)
			if err := a.Config.Registry.Register(tool.New(d, again.call(d.Name))); err != nil {
				return err
			}
		}
		b.toolsets(out, made[0].Tools)
		fmt.Fprintln(out, "\n"+runsHead)
		paths := map[string][]session.Switch{}
		for _, p := range replay.Providers() {
			p.Deferral = false
			var base measured
			for _, way := range []string{"full", "declare", "announce", "auto"} {
				r, err := b.run(p, way)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", p.Name, way, err)
				}
				if way == "full" {
					base = r
				}
				r.row(out, p.Name, way, base)
				paths[p.Name+way] = r.path
			}
		}
		switches(out, paths)
		return nil
	})
}

// toolsets prints what the tools of each phase cost, of all.
func (b *bench) toolsets(out io.Writer, all []tool.Definition) {
	cost, sum := map[string]int{}, 0
	for i := range all {
		raw, _ := json.Marshal(&all[i])
		cost[all[i].Name] = chat.Tokens(string(raw))
		sum += cost[all[i].Name]
	}
	fmt.Fprintf(out, "| phase | tools | tokens of their definitions | of all %d tools |\n|---|---|---|---|\n", len(all))
	plan, _ := b.app.Engine.Agents().Workflows().Get(b.name)
	for _, ph := range plan.Phases {
		skill, _ := b.app.Engine.Catalog().Skill(ph.Skill)
		n := 0
		for _, name := range skill.Tools {
			n += cost[strings.TrimSuffix(name, "Tool")]
		}
		fmt.Fprintf(out, "| %s | %d | %d | %d (−%.0f %%) |\n", ph.Name, len(skill.Tools), n, sum,
			100*float64(sum-n)/float64(sum))
	}
}

// switches prints what each switch of the phases costs in the cache of each provider.
func switches(out io.Writer, paths map[string][]session.Switch) {
	head, line := "| switch | phases | tokens of definitions, declared |", "|---|---|---|"
	for _, p := range replay.Providers() {
		head += fmt.Sprintf(" %s: declared anew | etui's choice |", p.Name)
		line += "---|---|"
	}
	fmt.Fprintf(out, "\n%s\n%s\n", head, line)
	for i, s := range paths[replay.Providers()[0].Name+"declare"] {
		fmt.Fprintf(out, "| %d | %s → %s | %d |", i+1, s.From, s.To, s.ToolTokens)
		for _, p := range replay.Providers() {
			declared, auto := paths[p.Name+"declare"][i], paths[p.Name+"auto"][i]
			fmt.Fprintf(out, " %.0f tokens, $%.4f | %s: %.0f, $%.4f |", declared.Lost, declared.Lost*p.Input/1e6,
				auto.Delivery, auto.Lost, auto.Lost*p.Input/1e6)
		}
		fmt.Fprintln(out)
	}
}

// runTests runs the program and returns what its tools gave, in order.
func runTests() (gave []chat.Result, err error) {
	dir, err := os.MkdirTemp("", "unittest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project := filepath.Join(dir, "project")
	if err := os.CopyFS(project, os.DirFS(sample)); err != nil {
		return nil, err
	}
	answers, err := filepath.Abs(sample + ".script")
	if err != nil {
		return nil, err
	}
	c := exec.Command("go", "run", ".", "--target", filepath.Join(project, "rate", "rate.go"), "--script", answers,
		"--json")
	c.Dir, c.Stderr = unitTests, os.Stderr
	said, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", unitTests, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(said))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e struct {
			Result *struct {
				Name, Text string
				Failed     bool
				Data       json.RawMessage
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if r := e.Result; r != nil {
			gave = append(gave, chat.Result{Name: r.Name, Text: r.Text, Failed: r.Failed,
				View: &chat.View{Data: r.Data}})
		}
	}
	return gave, lines.Err()
}

// replayed plays results again. Each tool has its own, in their order.
type replayed struct {
	gave []chat.Result
	mu   sync.Mutex
	left []chat.Result
}

func (r *replayed) begin() { r.left = append([]chat.Result(nil), r.gave...) }

func (r *replayed) call(name string) func(context.Context, json.RawMessage) (chat.Result, error) {
	return func(context.Context, json.RawMessage) (chat.Result, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, one := range r.left {
			if one.Name == name {
				r.left = append(r.left[:i:i], r.left[i+1:]...)
				return one, nil
			}
		}
		return chat.Result{}, fmt.Errorf("%s gave nothing more", name)
	}
}

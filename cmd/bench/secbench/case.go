package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/skill"
)

// benchRun is one case that plays out while skills are served.
type benchRun struct {
	*benchSkills
	dir     string // the skills' folder
	changed time.Time
}

// benchCaseOf is the part of a case that is needed here.
type benchCaseOf struct {
	Expect   string            `json:"expect"`
	Contains []string          `json:"error_contains"`
	Dir      string            `json:"skills_dir"`
	Env      map[string]string `json:"env"`
	Steps    []map[string]any  `json:"steps"`
	Call     string            `json:"call"`
	Args     json.RawMessage   `json:"args"`
	Server   *benchAnswerOf    `json:"server"`
	Check    []struct {
		Kind, Header, Value, Needle string
	} `json:"check"`
}

type caseRequest struct {
	Workspace string      `json:"workspace"`
	Case      benchCaseOf `json:"case"`
}

// benchCase answers run_case: it plays the steps of a case, or calls a skill whose
// service answers as the case says. It is ok if all came out as the case expects.
func benchCase(ctx context.Context, request caseRequest) (map[string]any, error) {
	c := request.Case
	if c.Dir == "" {
		c.Dir = "skills"
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Second)
	defer cancel()
	return nil, errors.Join(c.play(ctx, request.Workspace), c.call(ctx, request.Workspace))
}

// play changes files while the skills are served, and checks the effect.
func (c benchCaseOf) play(ctx context.Context, workspace string) error {
	if len(c.Steps) == 0 {
		return nil
	}
	b, err := newBenchSkills(workspace, c.Dir, c.Env, egress.Config{})
	if err != nil {
		return err
	}
	r := &benchRun{benchSkills: b, dir: filepath.Join(workspace, c.Dir)}
	serving, stop := context.WithCancel(ctx)
	var server sync.WaitGroup
	defer server.Wait()
	defer stop()
	r.loader.Load(ctx)
	server.Go(func() { r.loader.Run(serving) })
	for i, step := range c.Steps {
		if err := r.step(ctx, step); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// step plays one step, named after its first known key.
func (r *benchRun) step(ctx context.Context, step map[string]any) error {
	text := func(key string) string { s, _ := step[key].(string); return s }
	file := func(key string) string { return filepath.Join(r.dir, text(key)) }
	if want, ok := step["expect"].(map[string]any); ok {
		return r.expect(ctx, want)
	}
	if seconds, ok := step["wait_s"].(float64); ok {
		return sleep(ctx, time.Duration(seconds*float64(time.Second)))
	}
	if err := r.looked(ctx); err != nil { // a step begins when the one before it has taken effect
		return err
	}
	defer func() { r.changed = time.Now() }()
	switch {
	case step["write"] != nil:
		return r.write(step, file("write"))
	case step["append"] != nil:
		f, err := os.OpenFile(file("append"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text("content"))
		return errors.Join(err, f.Close())
	case step["rename"] != nil:
		return os.Rename(file("rename"), file("to"))
	case step["symlink"] != nil:
		_ = os.Remove(file("symlink"))
		return os.Symlink(text("target"), file("symlink"))
	case step["touch"] != nil:
		return os.Chtimes(file("touch"), time.Now(), time.Now())
	case step["truncate"] != nil:
		return os.Truncate(file("truncate"), 0)
	case step["chmod"] != nil:
		mode, err := strconv.ParseUint(text("mode"), 8, 32)
		return errors.Join(err, os.Chmod(file("chmod"), os.FileMode(mode)))
	case step["mkdir"] != nil:
		return os.MkdirAll(file("mkdir"), 0o755)
	case step["remove"] != nil:
		return os.Remove(file("remove"))
	case step["delete"] != nil:
		return os.Remove(file("delete"))
	case step["remove_dir"] != nil:
		return os.RemoveAll(r.dir)
	case step["make_dir"] != nil:
		return os.MkdirAll(r.dir, 0o755)
	case step["reload"] != nil:
		r.loader.Reload(ctx, "bench", "asked for")
		return nil
	case step["enable"] != nil:
		return r.table.Enable(text("enable"))
	case step["disable"] != nil:
		return r.table.Disable(text("disable"))
	}
	return fmt.Errorf("unknown step %v", step)
}

// write writes a file, or many with %d in their names.
func (r *benchRun) write(step map[string]any, file string) error {
	content, _ := step["content"].(string)
	if raw, ok := step["content_b64"].(string); ok {
		decoded, err := base64.StdEncoding.DecodeString(raw)
		if err != nil {
			return err
		}
		content = string(decoded)
	}
	repeat, many := step["repeat"].(float64)
	for i := range int(max(1, repeat)) {
		name, text := file, content
		if many {
			name, text = strings.ReplaceAll(file, "%d", strconv.Itoa(i)),
				strings.ReplaceAll(content, "%d", strconv.Itoa(i))
		}
		target := name
		if atomic, _ := step["atomic"].(bool); atomic {
			name += ".tmp"
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
		if name != target {
			if err := os.Rename(name, target); err != nil {
				return err
			}
		}
	}
	return nil
}

// Within benchSeen a change must have taken effect; after benchLooked the loader has
// certainly looked at it.
const (
	benchSeen   = 6 * time.Second
	benchLooked = time.Second
)

// expect waits until the skills are as they should be, once the last change has
// been looked at: absent (null), there (true), or there with a description or
// other values.
func (r *benchRun) expect(ctx context.Context, want map[string]any) error {
	if err := r.looked(ctx); err != nil {
		return err
	}
	for {
		err := r.compare(want)
		if err == nil || time.Since(r.changed) > benchSeen {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// looked waits until the last change has been looked at.
func (r *benchRun) looked(ctx context.Context) error {
	return sleep(ctx, time.Until(r.changed.Add(benchLooked)))
}

func (r *benchRun) compare(want map[string]any) error {
	for name, value := range want {
		s, err := r.table.Get(name)
		there := err == nil
		switch v := value.(type) {
		case nil:
			if there {
				return fmt.Errorf("skill %s is still there", name)
			}
			continue
		case bool:
			if there != v {
				return fmt.Errorf("skill %s there: %v", name, there)
			}
			continue
		case string:
			value = map[string]any{"description": v}
		}
		if !there {
			return fmt.Errorf("skill %s is missing", name)
		}
		fields, _ := value.(map[string]any)
		now := r.describe(s)
		for key, v := range fields {
			if fmt.Sprint(now[key]) != fmt.Sprint(v) {
				return fmt.Errorf("skill %s: %s is %v", name, key, now[key])
			}
		}
	}
	return nil
}

// call calls a skill whose service answers as the case says: the one at whatever
// address of this machine the skill has.
func (c benchCaseOf) call(ctx context.Context, workspace string) error {
	if c.Call == "" {
		return nil
	}
	service, err := startBenchService(ctx, c.Server)
	if err != nil {
		return err
	}
	defer service.stop()
	b, err := newBenchSkills(workspace, c.Dir, c.Env,
		egress.Config{Allow: []string{"127.0.0.0/8", "[::1]:*"}, Dial: service.dial})
	if err != nil {
		return err
	}
	report := b.loader.Load(ctx)
	start := time.Now()
	result, err := b.table.Call(ctx, c.Call, c.Args)
	took, most := time.Since(start), b.seen.config(c.Call).Timeout
	switch {
	case most == 0:
		return fmt.Errorf("skill %s is not there: %v", c.Call, report.Problems)
	case took > most+2*time.Second:
		return fmt.Errorf("the call took %s, with a timeout of %s", took, most)
	}
	for _, name := range report.Loaded { // the others are as they were
		if _, err := b.table.Get(name); err != nil {
			return err
		}
	}
	return c.judge(result, err, service.seen())
}

// judge compares the outcome of a call with what was expected.
func (c benchCaseOf) judge(result any, err error, sent []http.Header) error {
	raw, _ := json.Marshal(result)
	told := string(raw)
	if failing := c.Expect != "accept"; failing && err == nil {
		return fmt.Errorf("the call succeeded: %.200s", told)
	} else if !failing && err != nil {
		return err
	}
	if err != nil {
		told += err.Error()
		if skill.Kind(err) == "" {
			return fmt.Errorf("an error of no kind: %w", err)
		}
		for _, part := range c.Contains {
			if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(part)) {
				return fmt.Errorf("the error does not name %q: %w", part, err)
			}
		}
	}
	for _, check := range c.Check {
		switch check.Kind {
		case "header_sent":
			if len(sent) == 0 || sent[0].Get(check.Header) != check.Value {
				return fmt.Errorf("header %s was not sent as %q", check.Header, check.Value)
			}
		case "no_output":
			if strings.Contains(told, check.Needle) {
				return fmt.Errorf("the outcome shows %q", check.Needle)
			}
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

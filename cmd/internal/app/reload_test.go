package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/secret"
)

// TestRulesChangeTogether: while etui changes between two sets of rules, each of which
// refuses a call for another reason, no call passes one half of each.
func TestRulesChangeTogether(t *testing.T) {
	for name, texts := range map[string][2]string{
		"visibility and policy": {
			"policy: {rules: [{deny: [list_dir]}]}\n",
			"visibility: {rules: [{deny: [list_dir]}]}\n",
		},
		"people and policy": {
			"users: [{name: ann, roles: [admin]}]\npolicy: {rules: [{deny: [list_dir]}]}\n",
			"users: [{name: ann}]\npolicy: {rules: [{allow: [list_dir], when: '\"admin\" in user.roles'}]}\n",
		},
		"people and visibility": {
			"users: [{name: ann, roles: [admin]}]\nvisibility: {rules: [{deny: [list_dir]}]}\n",
			"users: [{name: ann}]\nvisibility: {rules: [{allow: [list_dir], when: '\"admin\" in user.roles'}]}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, config.File)
			if err := os.WriteFile(file, []byte(texts[0]), 0o600); err != nil {
				t.Fatal(err)
			}
			w, err := workdir.Open(dir, "", []string{"ETUI_STATE=" + t.TempDir(), "ETUI_MODELS=[{name: m, provider: offline}]", "ETUI_SANDBOX_MODE=off"})
			if err != nil {
				t.Fatal(err)
			}
			a, err := New(t.Context(), w, Config{Secrets: &secret.Set{}})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			var books [2]*rulebook.Book
			for i, text := range texts {
				c, err := config.Parse(file, []byte(text), nil)
				if err != nil {
					t.Fatal(err)
				}
				if books[i], err = rulebook.Compile(c); err != nil {
					t.Fatal(err)
				}
			}
			stop, stopped := make(chan struct{}), make(chan error, 1)
			go func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						stopped <- nil
						return
					default:
						if err := books[i%2].Apply(a.Config.Registry, a.Config.Workflows); err != nil {
							stopped <- err
							return
						}
					}
				}
			}()
			for range 500 {
				result, err := a.Engine.Call(t.Context(), engine.Message{User: "ann"}, "list_dir", []byte(`{}`))
				if err == nil {
					t.Errorf("a call passed: %s", result.Text)
					break
				}
				if text := result.Text + err.Error(); !strings.Contains(text, "no such tool") && !strings.Contains(text, "no tool") && !strings.Contains(text, "policy") {
					t.Fatalf("the call failed otherwise: %v", err)
				}
			}
			close(stop)
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	}
}

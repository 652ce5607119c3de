package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/hub/hubtest"
)

// TestAddresses: what people copy from a page or a terminal names a skill of the host's registry.
func TestAddresses(t *testing.T) {
	t.Parallel()
	h := begin(t)
	h.server.SetRepository("acme/skills", map[string]string{
		"skills/pdf/SKILL.md": hubtest.Manifest("pdf", "Reads PDF."), "skills/doc/SKILL.md": hubtest.Manifest("doc", "Reads documents."),
	})
	h.server.SetRepository("acme/one", map[string]string{"SKILL.md": hubtest.Manifest("one", "Is alone.")})
	for words, want := range map[string]string{
		"acme/one": "one", "acme/one#main": "one", "URL/acme/one": "one", "URL/acme/one.git": "one", "git+URL/acme/one.git": "one", "URL/acme/one/": "one", "URL/acme/one#main": "one",
		"URL/acme/skills@pdf": "pdf", "URL/acme/skills/tree/main/skills/pdf": "pdf", "URL/acme/skills/blob/v1/skills/doc/SKILL.md": "doc",
		"URL/acme/skills/-/tree/main/skills/doc": "doc", "URL/acme/skills/src/branch/main/skills/pdf": "pdf", "acme/skills/skills/pdf": "pdf", "acme/skills/skills@doc": "doc",
		"npx skills add acme/one": "one", "$ npx -y skills@latest add URL/acme/one.git -g -y": "one", "bunx skills i acme/skills --skill pdf -a claude-code": "pdf",
		"npx skills add URL/acme/skills --skill=doc": "doc", "git clone --depth 1 URL/acme/one.git": "one", "skills add acme/skills@pdf -s '*'": "pdf", "npx skills add acme/skills": "holds 2 skills: ",
		"npx skills add":                         "cannot be the name of a skill",
		"URL/acme/skills":                        "holds 2 skills: ",
		"URL/acme/skills/tree/main/skills/nope":  "no such skill",
		"URL/acme":                               "names no skill",
		"https://github.com/acme/one":            "no registry is for github.com; add {name: github, type: git} to skills.registries",
		"git@gitlab.com:acme/one.git":            `add {name: gitlab, type: git, url: "https://gitlab.com/{repository}/-/archive/{version}/a.tar.gz"}`,
		"ssh://git@git.acme.example:22/acme/one": `add {name: git, type: git, url: "https://git.acme.example/{repository}/archive/{version}.tar.gz"}`,
		"bitbucket.org/acme/one":                 "/get/{version}.tar.gz",
		"ftp://127.0.0.1/acme/one":               "is no address of a repository",
	} {
		address := strings.Replace(words, "URL", h.url, 1)
		done, err := h.get("", address, hub.Options{Force: true})
		switch {
		case err == nil && done.Name != want, err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %+v, %v, want %s", words, done, err, want)
		case err == nil && (done.Origin.Registry != "git" || !strings.HasPrefix(done.Origin.Owner, "acme/")):
			t.Errorf("%s: %+v", words, done.Origin)
		}
	}
}

// TestClone installs from a clone of a repository on this machine.
func TestClone(t *testing.T) {
	t.Parallel()
	h, local := begin(t), t.TempDir()
	for _, name := range []string{"one/.git/HEAD", "one/node_modules/x/SKILL.md", "one/skills/pdf/SKILL.md", "many/skills/pdf/SKILL.md", "many/skills/doc/SKILL.md", "bare.git/HEAD", "bare.git/objects/x", "none/README.md"} {
		file := filepath.Join(local, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(hubtest.Manifest(filepath.Base(filepath.Dir(file)), "Reads.")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		local + "/one": "pdf", "file://" + local + "/one": "pdf", local + "/many/skills/doc": "doc",
		local + "/many":     "holds 2 skills; name the folder of one: " + local + "/many/skills/doc, ",
		local + "/bare.git": "is a bare Git repository",
		local + "/none":     "holds no skill: there is no SKILL.md in it",
	} {
		if !hub.IsFile(path) {
			t.Errorf("%s is no file", path)
		}
		s, err := hub.NewFile(path)
		if err != nil {
			t.Fatal(err)
		}
		done, err := h.Install(t.Context(), s, hub.Ref{}, hub.Options{Force: true})
		if err == nil && done.Name != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", path, done, err, want)
		}
	}
	list, err := h.Update(t.Context(), hub.Options{})
	if err != nil || len(list) != 2 || list[0].Err != nil || list[1].Err != nil {
		t.Errorf("updates: %+v, %v", list, err)
	}
}

package hub_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/hub/hubtest"
	"github.com/etui-run/etui/skill"
)

// house is a folder of skills, a server of skills, and an installer with sources.
type house struct {
	t      *testing.T
	dir    string
	server *hubtest.Server
	url    string
	*hub.Installer
	hub, site, git hub.Source
}

func begin(t *testing.T, skills ...hubtest.Skill) *house {
	t.Helper()
	h := &house{t: t, dir: filepath.Join(t.TempDir(), "skills"), server: hubtest.New(skills...)}
	server := httptest.NewServer(h.server)
	t.Cleanup(server.Close)
	h.url = server.URL
	c := hub.HTTPConfig{URL: server.URL, Client: server.Client(), Token: "token-of-the-test"}
	archives := c
	archives.URL += "/archive/{repository}/{version}"
	var errs [3]error
	h.hub, errs[0] = hub.NewClawHub("hub", c)
	h.site, errs[1] = hub.NewWellKnown("site", c)
	h.git, errs[2] = hub.NewGit("git", archives, "acme/skills")
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	h.Installer = hub.New(hub.Config{
		Folder: h.dir, Sources: []hub.Source{h.hub, h.site, h.git},
		Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
	})
	return h
}

// get installs a skill by its words.
func (h *house) get(registry, words string, o hub.Options) (*hub.Installation, error) {
	h.t.Helper()
	r, ref, err := h.Lookup(h.t.Context(), registry, words, "")
	if err != nil {
		return nil, err
	}
	return h.Install(h.t.Context(), r, ref, o)
}

// files lists what is in the folder of skills.
func (h *house) files() (list []string) {
	h.t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(h.dir, path)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	entries, _ := os.ReadDir(h.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			h.t.Errorf("left behind: %s", e.Name())
		}
	}
	return list
}

func (h *house) want(want ...string) {
	h.t.Helper()
	if got := h.files(); !slices.Equal(got, want) {
		h.t.Errorf("files\ngot  %q\nwant %q", got, want)
	}
}

func (h *house) read(name string) string {
	raw, _ := os.ReadFile(filepath.Join(h.dir, name))
	return string(raw)
}

// version is a version of a skill with its manifest and more files, as pairs.
func version(number, name string, more ...string) hubtest.Version {
	v := hubtest.Version{Number: number, Files: map[string]string{"SKILL.md": hubtest.Manifest(name, "Greets people.")}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Files[more[i]] = more[i+1]
	}
	return v
}

func greet(versions ...hubtest.Version) hubtest.Skill {
	return hubtest.Skill{Name: "greet", Owner: "acme", Summary: "Greets people.", Versions: versions}
}

// TestLife installs, updates, pins and removes a skill of ClawHub's API.
func TestLife(t *testing.T) {
	h := begin(t, greet(version("1.0.0", "greet", "references/words.md", "hello\n")))
	done, err := h.get("", "@acme/greet", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := done.Origin
	if o.Registry != "hub" {
		t.Errorf("o.Registry = %q, want %q", o.Registry, "hub")
	}
	if o.Owner != "acme" {
		t.Errorf("o.Owner = %q, want %q", o.Owner, "acme")
	}
	if o.Version != "1.0.0" {
		t.Errorf("o.Version = %q, want %q", o.Version, "1.0.0")
	}
	if !strings.HasPrefix(o.Digest, "sha256:") {
		t.Errorf("o.Digest: %q does not begin with %q", o.Digest, "sha256:")
	}
	if len(o.Files) != 2 {
		t.Fatalf("len(o.Files) = %v, want 2: %+v", len(o.Files), o.Files)
	}
	if o.Verdict != hub.Clean {
		t.Errorf("o.Verdict = %v, want %v", o.Verdict, hub.Clean)
	}
	if o.Signature != hub.Unsigned {
		t.Errorf("o.Signature = %v, want %v", o.Signature, hub.Unsigned)
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md", "greet/references/words.md")

	_, err = h.get("hub", "greet", hub.Options{})
	if !errors.Is(err, hub.ErrInstalled) {
		t.Errorf("a second time: %v", err)
	}
	update := func(o hub.Options) string {
		t.Helper()
		list, err := h.Update(t.Context(), o)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].State + " " + list[0].From + " " + list[0].To
	}
	if got := update(hub.Options{}); got != "current 1.0.0 1.0.0" {
		t.Error(got)
	}
	h.server.Set(greet(version("1.0.0", "greet"), version("1.1.0", "greet", "new.md", "new\n")))
	if err := h.Pin(t.Context(), "greet", true); err != nil {
		t.Fatal(err)
	}
	if got := update(hub.Options{}); got != "pinned 1.0.0 " {
		t.Error(got)
	}
	if err := h.Pin(t.Context(), "greet", false); err != nil {
		t.Fatal(err)
	}
	// A file that was changed here is not replaced without Force.
	if err := os.WriteFile(filepath.Join(h.dir, "greet/references/words.md"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if list, err := h.List(t.Context()); err != nil || len(list) != 1 || !slices.Equal(list[0].Changed, []string{"references/words.md"}) {
		t.Errorf("drift: %+v, %v", list, err)
	}
	if got := update(hub.Options{}); got != "skipped 1.0.0 1.1.0" || h.read("greet/references/words.md") != "mine\n" {
		t.Error(got)
	}
	if got := update(hub.Options{Force: true}); got != "updated 1.0.0 1.1.0" {
		t.Error(got)
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md", "greet/new.md")
	if err := h.Remove(t.Context(), "greet", hub.Options{}); err != nil {
		t.Fatal(err)
	}
	h.want()
	if err := h.Remove(t.Context(), "greet", hub.Options{}); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestVerdicts: a source's verdict decides whether a skill is installed.
func TestVerdicts(t *testing.T) {
	suspicious := greet(version("1", "greet"))
	suspicious.Verdict = "suspicious"
	h := begin(t, suspicious)
	var ask *hub.NeedsYesError
	if _, err := h.get("hub", "greet", hub.Options{}); !errors.As(err, &ask) || !strings.Contains(err.Error(), "suspicious.test") {
		t.Errorf("suspicious: %v", err)
	}
	h.want()
	if _, err := h.get("hub", "greet", hub.Options{Accept: true}); err != nil {
		t.Fatal(err)
	}
	// A skill that turns out to be malicious is removed, pinned or not.
	if err := h.Pin(t.Context(), "greet", true); err != nil {
		t.Fatal(err)
	}
	malicious := suspicious
	malicious.Verdict = "malicious"
	h.server.Set(malicious)
	list, err := h.Update(t.Context(), hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("len(list) = %v, want 1: %+v", len(list), list)
	}
	if list[0].State != hub.Withdrew {
		t.Errorf("list[0].State = %v, want %v", list[0].State, hub.Withdrew)
	}
	if !errors.Is(list[0].Err, hub.ErrRefused) {
		t.Errorf("%v is not %v", list[0].Err, hub.ErrRefused)
	}
	h.want()
	if _, err := h.get("hub", "greet", hub.Options{Accept: true, Force: true}); !errors.Is(err, hub.ErrRefused) {
		t.Errorf("malicious: %v", err)
	}
	for scan, want := range map[string]string{"malicious": "scanners say so", "suspicious": "scanners say so", "pending": "scan is pending", "error": "scan is error"} {
		scanned := version("1", "greet")
		scanned.Scan = scan
		h.server.Set(greet(scanned))
		if _, err := h.get("hub", "greet", hub.Options{Accept: scan == "malicious"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("scan %s: %v", scan, err)
		}
	}
	h.want()
	// Without a known verdict, nothing is installed.
	h.server.Set(greet(version("1", "greet")))
	h.server.Fail("/api/v1/skills/greet", 1, http.StatusInternalServerError, nil, "boom")
	if _, err := h.Install(t.Context(), h.hub, hub.Ref{Name: "greet"}, hub.Options{Accept: true}); !errors.Is(err, hub.ErrUnavailable) || !strings.Contains(err.Error(), "boom") {
		t.Errorf("no metadata: %v", err)
	}
	h.server.Fail("/api/v1/skills/greet/versions", 1, http.StatusBadGateway, nil, "")
	if _, err := h.Install(t.Context(), h.hub, hub.Ref{Name: "greet"}, hub.Options{}); !errors.Is(err, hub.ErrUnavailable) {
		t.Errorf("no files: %v", err)
	}
	if _, err := h.get("hub", "nobody", hub.Options{}); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	h.want()
}

// TestDigests refuses files that differ from what the source describes.
func TestDigests(t *testing.T) {
	good := version("1", "greet", "a.md", "a")
	other, extra, fewer := good, good, good
	other.Listed = map[string]string{"SKILL.md": good.Files["SKILL.md"], "a.md": "b"}
	extra.Listed = map[string]string{"SKILL.md": good.Files["SKILL.md"]}
	fewer.Listed = map[string]string{"SKILL.md": good.Files["SKILL.md"], "a.md": "a", "b.md": "b"}
	for says, v := range map[string]hubtest.Version{"its digest is": other, "not among the files": extra, "is missing": fewer} {
		h := begin(t, greet(v))
		if _, err := h.get("hub", "greet", hub.Options{Accept: true}); !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
		h.want()
	}
	h := begin(t, greet(good))
	r, err := h.site.Resolve(t.Context(), hub.Ref{Name: "greet"})
	if err != nil || len(r.Digest) != 64 {
		t.Fatal(r, err)
	}
	h.server.Set(greet(version("1", "greet", "a.md", "swapped")))
	root := openTemp(t)
	if err := h.site.Download(t.Context(), r, root, nil); !errors.Is(err, hub.ErrRefused) {
		t.Errorf("a swapped archive: %v", err)
	}
}

func openTemp(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// TestSources installs from each kind of source.
func TestSources(t *testing.T) {
	single := hubtest.Skill{Name: "single", Owner: "acme", Summary: "One file.", Versions: []hubtest.Version{{Number: "1", Files: map[string]string{"SKILL.md": hubtest.Manifest("single", "One file.")}}}}
	handed := hubtest.Skill{Name: "handed", Owner: "acme", Repository: "acme/skills", Folder: "skills/handed"}
	h := begin(t, greet(version("1", "greet", "a.md", "a")), single, handed)
	h.server.SetRepository("acme/skills", map[string]string{
		"README.md": "skills", "skills/handed/SKILL.md": hubtest.Manifest("handed", "Handed over."), "skills/handed/scripts/run.sh": "echo hi\n",
		"skills/other/SKILL.md": hubtest.Manifest("other", "Another one."), "link": "x",
	})
	for _, c := range []struct{ registry, words, file string }{
		{"site", "greet", "greet/a.md"},
		{"site", "single", "single/SKILL.md"},
		{"hub", "handed", "handed/scripts/run.sh"},
		{"git", "acme/skills@other", "other/SKILL.md"},
		{"", "acme/skills@handed", "handed/scripts/run.sh"},
	} {
		done, err := h.get(c.registry, c.words, hub.Options{Force: true})
		if err != nil {
			t.Errorf("%s of %s: %v", c.words, c.registry, err)
		} else if h.read(c.file) == "" || done.Origin.Location == "" {
			t.Errorf("%s of %s: no %s: %+v", c.words, c.registry, c.file, done.Origin)
		}
	}
	h.server.Older(true)
	if done, err := h.get("site", "greet", hub.Options{Force: true}); err != nil || h.read("greet/a.md") != "a" || done.Origin.Digest != "" {
		t.Errorf("the older index: %+v, %v", done, err)
	}
	found, errs := h.Find(t.Context(), "", "greets people", 10)
	if len(errs) > 0 {
		t.Fatalf("len(errs) = %v, want none: %+v", len(errs), errs)
	}
	if len(found) == 0 {
		t.Fatalf("len(found) = %v, want another than 0: %+v", len(found), found)
	}
	if _, err := h.get("git", "acme/skills", hub.Options{}); !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), "handed, other") {
		t.Errorf("one of two: %v", err)
	}
	if _, err := h.get("git", "acme/nothing@x", hub.Options{}); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("no repository: %v", err)
	}
	// None of them has anything newer.
	list, err := h.Update(t.Context(), hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		if u.State != hub.Current {
			t.Errorf("update: %+v", u)
		}
	}
}

// TestFolder installs from this machine.
func TestFolder(t *testing.T) {
	h := begin(t)
	local := t.TempDir()
	for name, text := range map[string]string{"greet/SKILL.md": hubtest.Manifest("greet", "Greets."), "greet/.git/config": "[core]", "packed.zip": string(hubtest.Zip(map[string]string{"packed/SKILL.md": hubtest.Manifest("packed", "Packed.")})), "tarred.tgz": string(hubtest.Tar(map[string]string{"./SKILL.md": hubtest.Manifest("tarred", "Tarred.")}))} {
		path := filepath.Join(local, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	folder := hub.NewFolder("local", local)
	for _, name := range []string{"greet", "packed", "tarred"} {
		if _, err := h.Install(t.Context(), folder, hub.Ref{Name: name}, hub.Options{}); err != nil {
			t.Error(err)
		}
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md", "packed/.skill-origin.json", "packed/SKILL.md", "tarred/.skill-origin.json", "tarred/SKILL.md")
	if found, err := folder.Search(t.Context(), "greets", 5); err != nil || len(found) != 1 || found[0].Name != "greet" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := folder.Resolve(t.Context(), hub.Ref{Name: "nothing"}); !errors.Is(err, skill.ErrNotFound) {
		t.Error(err)
	}
	// The manifest names the skill of a file.
	file, err := hub.NewFile(filepath.Join(local, "packed.zip"))
	if err != nil {
		t.Fatal(err)
	}
	if done, err := h.Install(t.Context(), file, hub.Ref{}, hub.Options{Force: true}); err != nil || done.Name != "packed" {
		t.Errorf("%+v, %v", done, err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(local, "greet/link")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Install(t.Context(), folder, hub.Ref{Name: "greet"}, hub.Options{Force: true}); !errors.Is(err, hub.ErrRefused) {
		t.Errorf("a link: %v", err)
	}
	if h.read("greet/SKILL.md") == "" {
		t.Error("the refused replacement took the old skill away")
	}
}

// TestBusyServer waits as long as the server asks, and gives up in the end.
func TestBusyServer(t *testing.T) {
	h := begin(t, greet(version("1", "greet")))
	soon := http.Header{"Retry-After": {"0"}}
	h.server.Fail("/api/v1/search", 2, http.StatusTooManyRequests, soon, "Rate limit exceeded")
	if found, err := h.hub.Search(t.Context(), "greet", 5); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	h.server.Fail("/api/v1/search", 3, http.StatusTooManyRequests, soon, "Rate limit exceeded")
	if _, err := h.hub.Search(t.Context(), "greet", 5); !errors.Is(err, hub.ErrUnavailable) || !strings.Contains(err.Error(), "try again") {
		t.Error(err)
	}
	h.server.Fail("/api/v1/search", 1, http.StatusTooManyRequests, http.Header{"Retry-After": {"3600"}}, "Rate limit exceeded")
	if _, err := h.hub.Search(t.Context(), "greet", 5); err == nil || !strings.Contains(err.Error(), "1h0m0s") {
		t.Error(err)
	}
	locked := hubtest.Skill{Name: "locked", Owner: "acme"}
	h.server.Set(locked)
	if _, err := h.get("hub", "locked", hub.Options{}); !errors.Is(err, hub.ErrRefused) {
		t.Errorf("locked: %v", err)
	}
	if _, err := h.hub.Resolve(t.Context(), hub.Ref{Name: "locked"}); err == nil || !strings.Contains(err.Error(), "Still being scanned.") {
		t.Errorf("locked: %v", err)
	}
}

// TestInterrupted restores a skill that was being replaced when a process died.
func TestInterrupted(t *testing.T) {
	h := begin(t, greet(version("1", "greet")))
	for name, text := range map[string]string{".etui-install/old-mine/SKILL.md": "kept", ".etui-install/new/SKILL.md": "half"} {
		path := filepath.Join(h.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.get("hub", "greet", hub.Options{}); err != nil {
		t.Fatal(err)
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md", "mine/SKILL.md")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Install(ctx, h.hub, hub.Ref{Name: "greet"}, hub.Options{Force: true}); err == nil {
		t.Error("installed after the context ended")
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md", "mine/SKILL.md")
}

// TestAtOnce: of many concurrent installations of a skill, one succeeds.
func TestAtOnce(t *testing.T) {
	h := begin(t, greet(version("1", "greet")))
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := h.Install(t.Context(), h.hub, hub.Ref{Name: "greet"}, hub.Options{})
			results <- err
		}()
	}
	installed := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			installed++
		case !errors.Is(err, hub.ErrInstalled):
			t.Error(err)
		}
	}
	if installed != 1 {
		t.Errorf("%d have installed it", installed)
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md")
}

// TestNoWayBack: an update takes no lower version unless somebody asks for it by name.
func TestNoWayBack(t *testing.T) {
	says := func(own string) string {
		if own == "" {
			return hubtest.Manifest("greet", "Greets people.")
		}
		return strings.Replace(hubtest.Manifest("greet", "Greets people."), "---\n", "---\nmetadata: {version: "+own+"}\n", 1)
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for name, c := range map[string]struct {
		from, to         string // versions of the registry
		ownFrom, ownTo   string // versions in the SKILL.md
		state, mentioned string
	}{
		"higher":                      {"1.9.0", "1.10.0", "", "", hub.Updated, ""},
		"lower":                       {"1.10.0", "1.9.0", "", "", hub.Skipped, "1.9.0, and 1.10.0 is installed"},
		"a release after its rc":      {"2.0.0-rc.2", "2.0.0", "", "", hub.Updated, ""},
		"an rc after its release":     {"2.0.0", "2.0.0-rc.2", "", "", hub.Skipped, "2.0.0-rc.2, and 2.0.0 is installed"},
		"a lower rc":                  {"2.0.0-rc.10", "2.0.0-rc.9", "", "", hub.Skipped, "2.0.0-rc.9, and 2.0.0-rc.10 is installed"},
		"a new build":                 {"1.0.0+1", "1.0.0+0", "", "", hub.Updated, ""},
		"an old package, republished": {"1.0.0", "1.1.0", "3.1", "3.0", hub.Skipped, "1.1.0 (3.0 in its SKILL.md), and 1.0.0 (3.1 in its SKILL.md) is installed"},
		"an old package, replaced":    {"1.0.0", "1.0.0", "3.1", "3.0", hub.Skipped, "1.0.0 (3.0 in its SKILL.md), and 1.0.0 (3.1 in its SKILL.md) is installed"},
		"no version any more":         {"1.0.0", "1.1.0", "3.1", "", hub.Skipped, "1.1.0, and 1.0.0 (3.1 in its SKILL.md) is installed"},
		"a commit":                    {"9.0.0", commit, "", "", hub.Updated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := begin(t, greet(version(c.from, "greet", "SKILL.md", says(c.ownFrom), "old.md", "old")))
			if _, err := h.get("hub", "greet", hub.Options{}); err != nil {
				t.Fatal(err)
			}
			h.server.Set(greet(version(c.to, "greet", "SKILL.md", says(c.ownTo), "new.md", "new")))
			// Force alone replaces changed files; it does not ask for an older skill.
			for _, o := range []hub.Options{{}, {Force: true}} {
				got, err := h.Update(t.Context(), o)
				if err != nil || len(got) != 1 {
					t.Fatal(got, err)
				}
				if got[0].State != c.state {
					t.Errorf("%+v: the state is %s, want %s: %v", o, got[0].State, c.state, got[0].Err)
				}
				if c.state == hub.Updated {
					return
				}
				if !errors.Is(got[0].Err, hub.ErrOlder) {
					t.Errorf("%+v: %v is not %v", o, got[0].Err, hub.ErrOlder)
				}
				if want := c.mentioned + "; to go back: etui skills update greet --force"; !strings.Contains(got[0].Why, want) {
					t.Errorf("%+v: %q does not contain %q", o, got[0].Why, want)
				}
				h.want("greet/.skill-origin.json", "greet/SKILL.md", "greet/old.md")
			}
			got, err := h.Update(t.Context(), hub.Options{Force: true}, "greet")
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if got[0].State != hub.Updated {
				t.Errorf("asked by name: the state is %s: %v", got[0].State, got[0].Err)
			}
			h.want("greet/.skill-origin.json", "greet/SKILL.md", "greet/new.md")
		})
	}
}

// TestTagMovesBack: a tag of Git that moves to an older package updates nothing.
func TestTagMovesBack(t *testing.T) {
	h := begin(t)
	put := func(own, more string) {
		manifest := strings.Replace(hubtest.Manifest("greet", "Greets people."), "---\n", "---\nmetadata: {version: "+own+"}\n", 1)
		h.server.SetRepository("acme/skills", map[string]string{"greet/SKILL.md": manifest, "greet/" + more: more})
	}
	put("1.2.0", "old.md")
	if _, err := h.Install(t.Context(), h.git, hub.Ref{Owner: "acme/skills", Name: "greet", Version: "stable"}, hub.Options{}); err != nil {
		t.Fatal(err)
	}
	put("1.1.0", "new.md")
	if err := os.WriteFile(filepath.Join(h.dir, "greet/old.md"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := h.Update(t.Context(), hub.Options{})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if !errors.Is(got[0].Err, hub.ErrOlder) {
		t.Errorf("%v is not %v", got[0].Err, hub.ErrOlder)
	}
	const want = "stable (1.1.0 in its SKILL.md), and stable (1.2.0 in its SKILL.md) is installed; to go back: etui skills update greet --force, which also replaces the files that were changed here: old.md"
	if !strings.Contains(got[0].Why, want) {
		t.Errorf("%q does not contain %q", got[0].Why, want)
	}
	h.want("greet/.skill-origin.json", "greet/SKILL.md", "greet/old.md")
}

// TestManyValues: an answer of 8 MiB with millions of results does not take gigabytes.
func TestManyValues(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[`+strings.Repeat("{},", 2<<20)+`{}],"skills":[`+strings.Repeat("{},", 1<<19)+`{}]}`)
	}))
	t.Cleanup(server.Close)
	c := hub.HTTPConfig{URL: server.URL, Client: server.Client()}
	claw, err := hub.NewClawHub("hub", c)
	if err != nil {
		t.Fatal(err)
	}
	site, err := hub.NewWellKnown("site", c)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []hub.Source{claw, site} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := source.Search(t.Context(), "x", 5)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 || !errors.Is(err, hub.ErrUnavailable) {
			t.Errorf("%s took %d MiB: %v", source.Name(), n, err)
		}
	}
}

// TestNoList: what ClawHub judged is not known without digests, so nothing is installed.
func TestNoList(t *testing.T) {
	v := version("1", "greet")
	v.Listed = map[string]string{}
	h := begin(t, greet(v))
	if _, err := h.get("hub", "greet", hub.Options{}); err == nil {
		t.Error("a skill without a list of its files was installed")
	}
	h.want()
}

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
	skillhttp "github.com/etui-run/etui/skill/http"
	"github.com/etui-run/etui/skill/openapi"
)

// maxImported is how many operations one import takes.
const maxImported = 500

// Choice says which operations of a document become skills, and how.
type Choice struct {
	openapi.Options
	Tags, Operations []string
	All              bool
	// Force replaces files of the skills' names, and Accept takes an operation whose texts seem to
	// instruct the model.
	Force, Accept bool
}

// ImportedSkill is a skill that was made of an operation.
type ImportedSkill struct {
	openapi.Skill
	Method string `json:"method"`
	URL    string `json:"url"`
	Risk   string `json:"risk"`
}

// Import is what an import did.
type Import struct {
	Skills []ImportedSkill `json:"skills"`
	// Skipped are the operations that cannot be skills, with the reasons.
	Skipped []string `json:"skipped,omitempty"`
	// Unset are variables of the environment that have to be set.
	Unset []string `json:"unset,omitempty"`
}

// ReadOpenAPI reads a document from a file or an address.
func ReadOpenAPI(ctx context.Context, w *workdir.Workspace, source string) (*openapi.Document, error) {
	text, from, err := readDocument(ctx, w, source)
	if err != nil {
		return nil, err
	}
	d, err := openapi.Read(text, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return d, nil
}

func readDocument(ctx context.Context, w *workdir.Workspace, source string) (text []byte, from *url.URL, err error) {
	if !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		f, err := os.Open(source)
		if err != nil {
			return nil, nil, config.UsageError{Err: err}
		}
		defer func() { _ = f.Close() }() // it was only read
		text, err = io.ReadAll(io.LimitReader(f, openapi.MaxBytes+1))
		return text, nil, err
	}
	if from, err = egress.ParseURL(source); err != nil {
		return nil, nil, config.UsageError{Err: err}
	}
	guard, err := egress.New(egress.Config{Own: w.Ports, Allow: egress.HostOf(source)})
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
	resp, err := guard.Client(egress.Limits{Body: openapi.MaxBytes}).Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, phrase.Errorf("%s answers %s", from.Redacted(), resp.Status)
	}
	text, err = io.ReadAll(resp.Body)
	return text, resp.Request.URL, err
}

// chosen returns the operations of a choice.
func (c Choice) chosen(d *openapi.Document) (list []openapi.Operation, err error) {
	all, tags := d.Operations(), d.Tags()
	for _, tag := range c.Tags {
		if !slices.Contains(tags, tag) {
			return nil, config.Usagef("the document has no tag %q%s", tag, nearest.Hint(tag, slices.Values(tags)))
		}
	}
	for _, name := range c.Operations {
		if !slices.ContainsFunc(all, func(o openapi.Operation) bool { return o.Is(name) }) {
			var ids []string
			for _, o := range all {
				ids = append(ids, o.ID)
			}
			return nil, config.Usagef(
				"the document has no operation %q%s",
				name,
				nearest.Hint(name, slices.Values(ids)),
			)
		}
	}
	for _, o := range all {
		named := slices.ContainsFunc(c.Operations, o.Is)
		tagged := slices.ContainsFunc(o.Tags, func(tag string) bool { return slices.Contains(c.Tags, tag) })
		if named || !o.Deprecated && (c.All || tagged) {
			list = append(list, o)
		}
	}
	if len(list) > maxImported {
		return nil, config.Usagef(
			"these are %d operations, at most %d can be imported at once; choose with --tag or --operation",
			len(list),
			maxImported,
		)
	}
	return list, nil
}

// ImportOpenAPI makes skills of the operations that are chosen: their files in the folder of
// skills. It writes all of them or none.
func ImportOpenAPI(w *workdir.Workspace, d *openapi.Document, c Choice) (done Import, err error) {
	list, err := c.chosen(d)
	if err != nil {
		return done, err
	}
	services, err := checker(w)
	if err != nil {
		return done, err
	}
	words, taken := scan.NewDefinitions(), map[string]bool{}
	for _, o := range list {
		made, reason := importOperation(w, d, o, c, services, words)
		if reason == nil && taken[made.Name] {
			reason = phrase.Errorf("another operation has the name %s already", made.Name)
		}
		if reason != nil {
			done.Skipped = append(done.Skipped, fmt.Sprintf("%s %s: %v", o.Method, o.Path, reason))
			continue
		}
		taken[made.Name] = true
		if _, err := os.Lstat(fileOf(w, made.Name)); !errors.Is(err, fs.ErrNotExist) && !c.Force {
			return done, config.Usagef("%s exists already; replace it with --force", fileOf(w, made.Name))
		}
		done.Skills = append(done.Skills, made)
		for _, name := range made.Variables {
			if os.Getenv(name) == "" && !slices.Contains(done.Unset, name) {
				done.Unset = append(done.Unset, name)
			}
		}
	}
	if len(done.Skills) == 0 {
		return done, errors.Join(phrase.Errorf("no operation was imported"),
			errors.New(strings.Join(done.Skipped, "\n")))
	}
	if err := os.MkdirAll(w.InstallFolder(), 0o755); err != nil {
		return done, err
	}
	for _, s := range done.Skills {
		if err := atomicfile.Write(fileOf(w, s.Name), s.Text); err != nil {
			return done, err
		}
	}
	return done, nil
}

func fileOf(w *workdir.Workspace, name string) string {
	return filepath.Join(w.InstallFolder(), name+".yaml")
}

// checker loads skills as a gateway of the workspace would.
func checker(w *workdir.Workspace) (skill.Provider, error) {
	out, err := egress.New(egress.Config{Allow: w.Config.Skills.Local, Own: w.Ports})
	if err != nil {
		return nil, w.Mistakef("skills.local: %w", err)
	}
	return skillhttp.New(skillhttp.Config{Transport: out})
}

// importOperation makes the skill of one operation and checks it.
func importOperation(
	w *workdir.Workspace,
	d *openapi.Document,
	o openapi.Operation,
	c Choice,
	services skill.Provider,
	words *scan.Definitions,
) (made ImportedSkill, err error) {
	s, err := d.Skill(o, c.Options)
	if err != nil {
		return made, err
	}
	if slices.Contains(nameset.Reserved(), s.Name) {
		return made, phrase.Errorf("the name %s is one of etui's own; give another one with --name", s.Name)
	}
	read, err := skill.ParseYAML(
		s.Name+".yaml",
		s.Text,
		skill.Variables{Allowed: w.Config.Skills.Env, Lookup: func(string) (string, bool) { return "unset", true }},
	)
	if err != nil {
		return made, err
	}
	loaded, err := services.Load(read)
	if err != nil {
		return made, err
	}
	var schema any
	if len(read.Parameters) > 0 {
		if err := json.Unmarshal(read.Parameters, &schema); err != nil {
			return made, err
		}
	}
	findings := words.Judge(scan.Definition{Name: s.Name, Description: read.Description, Input: schema}, nil)
	if len(findings) > 0 && !c.Accept {
		return made, phrase.Errorf(
			"%s: it %s: %q; look at it, and import it with --yes",
			findings[0].Place,
			phrase.Text(findings[0].Why),
			findings[0].Text,
		)
	}
	s.Notes = append(s.Notes, skill.DetailsOf(loaded).Warnings...)
	address, _, _ := strings.Cut(read.Endpoint, "?")
	return ImportedSkill{s, read.Method, address, string(read.RiskLevel)}, nil
}

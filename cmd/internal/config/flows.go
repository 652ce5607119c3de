package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/nearest"
)

// FlowFolder is the folder of workflows in a workspace.
const FlowFolder = "workflows"

// maxFlows is how many files of workflows a workspace may have.
const maxFlows = 100

// AddFlows adds the workflows of the workspace in dir, one of each file
// workflows/NAME.yaml. The error joins an [Error] for everything that is wrong.
func (c *Config) AddFlows(dir string, environ []string) error {
	files, err := FlowFiles(dir)
	if err != nil {
		return err
	}
	env := variablesOf(environ)
	var errs []error
	for _, file := range files {
		f, err := readFlow(file, env)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.Workflows = append(c.Workflows, f)
	}
	return errors.Join(errs...)
}

// FlowFiles returns the files of the workflows of a workspace, by name.
func FlowFiles(dir string) (files []string, err error) {
	folder := filepath.Join(dir, FlowFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Error{File: folder, Message: "the folder of workflows cannot be read: " + err.Error()}
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yaml" || ext == ".yml" {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	if len(files) > maxFlows {
		return nil, Error{File: folder, Message: "there are more than 100 workflows"}
	}
	return files, nil
}

// readFlow reads a file with a workflow.
func readFlow(file string, env map[string]string) (f Flow, err error) {
	text, err := Read(file)
	if err != nil {
		return f, err
	}
	r := newReader(file, env)
	root, err := r.parse(text)
	if err != nil {
		return f, err
	}
	r.SetDefaults(&f)
	if r.Resolve(root) {
		r.Decode(root, &f)
	}
	if f.Name == "" {
		f.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return f, r.err()
}

// flows checks what the workflows in the file name.
func (r *reader) flows(c *Config, root *yaml.Node, models map[string]bool) {
	for i, f := range c.Workflows {
		if f.Name == "" {
			r.fail(find(root, "workflows", i), "a workflow needs the key \"name\"")
		}
		r.phases(f.Phases, find(root, "workflows", i, "phases"), models)
	}
	w := c.Workflow
	if len(w.Phases) == 0 && (w.Description != "" || w.Limits != FlowLimits{} ||
		form.Get(form.Get(root, "workflow"), "name") != nil) {
		r.fail(find(root, "workflow"), "a workflow needs the key \"phases\"")
	}
	r.phases(w.Phases, find(root, "workflow", "phases"), models)
}

func (r *reader) phases(list []Phase, at *yaml.Node, models map[string]bool) {
	for i, p := range list {
		if p.Model != "" && len(models) > 0 && !models[p.Model] {
			r.fail(find(at, i, "model"), "phase %s: there is no model %q%s", p.Name, p.Model,
				nearest.Hint(p.Model, slices.Values(slices.Sorted(maps.Keys(models)))))
		}
	}
}

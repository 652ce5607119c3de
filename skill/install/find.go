package install

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// patienceFind is how long a registry may take to answer a search.
const patienceFind = 15 * time.Second

// MaxFound bounds what a search returns of each registry.
const MaxFound = 50

// Find asks the registries, or the named one, at the same time. The results are
// in the order of the registries, and at most limit of each. Registries that do
// not answer are told in the errors; the others' results come all the same.
func (in *Installer) Find(ctx context.Context, registry, text string, limit int) ([]Found, []error) {
	asked := in.c.Registries
	if registry != "" {
		r, err := in.Registry(registry)
		if err != nil {
			return nil, []error{err}
		}
		asked = []Registry{r}
	}
	limit = max(1, min(limit, MaxFound))
	lists, errs := make([][]Found, len(asked)), make([]error, len(asked))
	ctx, cancel := context.WithTimeout(ctx, patienceFind)
	defer cancel()
	var running sync.WaitGroup
	for i, r := range asked {
		running.Go(func() { lists[i], errs[i] = r.Search(ctx, text, limit) })
	}
	running.Wait()
	all := slices.Concat(lists...)
	in.mark(all)
	return all, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// mark notes what is installed.
func (in *Installer) mark(list []Found) {
	root, err := os.OpenRoot(in.c.Folder)
	if err != nil {
		return // nothing is
	}
	defer root.Close()
	for i, f := range list {
		o, err := readOrigin(root, f.Name)
		list[i].Installed = err == nil && o != nil && o.Registry == f.Registry && (f.Owner == "" || o.Owner == f.Owner)
	}
}

// Words is how the skill is named to install it.
func (f Found) Words() string {
	switch {
	case f.Owner == "":
		return f.Name
	case strings.Contains(f.Owner, "/"):
		return f.Owner + "@" + f.Name
	}
	return "@" + f.Owner + "/" + f.Name
}

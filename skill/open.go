package skill

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/panics"
)

// OpenConfig says what [Open] makes of the files in a folder. With the zero value
// they can only be toolsets.
type OpenConfig struct {
	// Providers run the callable skills.
	Providers []Provider
	// Package makes the skill of a folder with a SKILL.md, as in [LoaderConfig]:
	// markdown.Here().Load. Nil leaves such folders out.
	Package func(dir *os.Root, name string, text []byte) (Skill, error)
	// Variables are the values for ${NAME} in the files.
	Variables Variables
	// Observe wraps every use of a skill; nil means that nothing does.
	Observe ObserveFunc
	// Log takes what operators want to know; nil discards.
	Log *slog.Logger
}

// Folder is an open folder of skills.
type Folder struct {
	// Table holds the skills. Skills that are registered in it are published, too.
	*Table
	loader    *Loader
	published *Publisher
	stop      context.CancelFunc
	watching  sync.WaitGroup
}

// Open loads the skills of a folder, publishes those that are enabled in a catalog,
// and follows the changes of the folder until it is closed. A file that cannot be
// used is logged and harms no other skill: [Folder.Reload] reports it. The error says
// why the folder itself cannot be read.
func Open(dir string, to *catalog.Registry, c OpenConfig) (*Folder, error) {
	root := Root{Dir: dir, Scope: Workspace}
	opened, err := openTree(root)
	if err != nil {
		return nil, Problem{File: dir, Message: err.Error()}
	}
	opened.close()
	f := &Folder{Table: NewTable(c.Log)}
	f.loader = NewLoader(f.Table, LoaderConfig{Roots: []Root{root}, Providers: c.Providers, Package: c.Package,
		Variables: c.Variables, Log: c.Log})
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	f.loader.Load(ctx)
	f.published = Publish(f.Table, to, PublishConfig{Observe: c.Observe, Log: c.Log})
	f.watching.Go(func() {
		defer panics.Log(c.Log, "watching a folder of skills")
		f.loader.Run(ctx)
	})
	return f, nil
}

// Reload reads all files again and reports what they hold. The log names who asked
// and why.
func (f *Folder) Reload(ctx context.Context, who, why string) Report {
	return f.loader.Reload(ctx, who, why)
}

// Close stops following the folder and takes its skills out of the catalog. It waits
// for running calls, which the caller cancels first.
func (f *Folder) Close() error {
	f.stop()
	f.watching.Wait()
	return f.published.Close()
}

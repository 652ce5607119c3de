package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Run the gateway", Args: cobra.NoArgs,
		Long: `Run the gateway of a workspace until it is stopped. It speaks OpenAI's chat completions at
/v1/chat/completions, where "model" is the name of an agent, and tells how it is at
/healthz and /readyz. It listens on 127.0.0.1:3884 unless the configuration says otherwise.`,
		Example: "  etui serve\n  etui serve --workspace ~/team",
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context()) },
	}
}

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Run the gateway with the demo workspace", Args: cobra.NoArgs,
		Long: `Run the gateway with the demo workspace: some 350 tools of an operations and office team,
answered by a small service inside etui. It needs no key and no network. With OPENAI_API_KEY,
OPENAI_BASE_URL or ANTHROPIC_API_KEY set, that language model answers, else the offline model.`,
		RunE: func(c *cobra.Command, _ []string) error {
			a.demo = true
			return a.serve(c.Context())
		},
	}
}

// shutdown is how long turns may go on after the gateway was told to stop.
const shutdown = 10 * time.Second

func (a *app) serve(ctx context.Context) error {
	began := time.Now()
	w, err := a.open()
	if err != nil {
		return err
	}
	log := a.logger(w.config.Log)
	listener, err := listen(ctx, w.config.Listen)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	unlock, err := lockState(w.state, url)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	b, err := a.build(ctx, w, true, log)
	if err != nil {
		return errors.Join(err, listener.Close(), unlock())
	}
	server := &http.Server{
		Handler: b.gateway.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	watching, unwatch := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { b.reloader.run(watching) })
	a.greet(w, b, url, time.Since(began))
	debug.FreeOSMemory() // what starting took is not needed again
	select {
	case err = <-failed:
	case <-ctx.Done():
		fmt.Fprintln(a.err, "etui: stopping; running turns may end first")
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		if err = server.Shutdown(grace); err != nil {
			err = server.Close() // what still runs is cancelled
			ending, done := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
			b.gateway.Wait(ending) // and stores what it has done
			done()
		}
		cancel()
	}
	unwatch()
	watcher.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, b.Close(), unlock())
}

// listen opens the gateway's port, or says who may have it.
func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use: another etui or program listens there; stop it, or set listen in etui.yaml or ETUI_LISTEN", address)
	case err != nil:
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}

// greet says where to go and what to try.
func (a *app) greet(w *workspace, b *built, url string, took time.Duration) {
	catalog := b.gateway.Catalog()
	fmt.Fprintf(a.out, "etui %s serves %d tools at %s (ready in %d ms)\n", version(), catalog.Len(), url, took.Milliseconds())
	fmt.Fprintf(a.out, "  workspace  %s\n  database   %s\n  model      %s\n", home(w.dir), home(filepath.Join(w.state, "etui.db")), b.describeModels())
	if !w.found {
		fmt.Fprintf(a.out, "  There is no etui.yaml; everything has its default value.\n")
	}
	if b.usage.Keep {
		fmt.Fprintf(a.out, "  usage      past turns are kept; see etui usage show\n")
	}
	for _, u := range b.unknown {
		fmt.Fprintf(a.out, "  warning: the skill %q names the tool %q, which does not exist\n", u.Toolset, u.Target)
	}
	for _, warning := range b.warnings {
		fmt.Fprintf(a.out, "  warning: %v\n", warning)
	}
	if w.config.Demo {
		fmt.Fprintf(a.out, strings.ReplaceAll(tryThis, "etui ", program()+" "), url)
	}
}

const tryThis = `
Try in a second terminal:
  etui chat -m "show me the error logs of the checkout pod in namespace prod"
  etui chat -m "帮我查一下 prod 命名空间里 checkout pod 的错误日志"
  etui select "how many vacation days do I have left?"
  etui chat                            talk; /help lists the commands
  etui tools list --group finance      the tools themselves
  curl %s/v1/chat/completions -d '{"model":"main","messages":[{"role":"user","content":"weather in Berlin tomorrow?"}]}'

Stop with Ctrl-C.
`

// program is how this program was called.
func program() string {
	if name := os.Args[0]; strings.Contains(name, "/") && !strings.Contains(name, " ") {
		return name
	}
	return "etui"
}

// home shortens a path below the user's home folder.
func home(path string) string {
	if dir, err := os.UserHomeDir(); err == nil && dir != "/" {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

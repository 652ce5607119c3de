package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/config"
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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w, err := a.open()
	if err != nil {
		return err
	}
	log := a.logger(w.config.Log)
	listener, err := listen(ctx, w.config.Listen, "listen")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	operators, err := listenAdmin(ctx, w.config, listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	unlock, err := lockState(w.state, url, operators.url)
	if err != nil {
		return errors.Join(err, listener.Close(), operators.close())
	}
	w.ports = ports(listener, operators.listener)
	b, err := a.build(ctx, w, true, log)
	if err != nil {
		return errors.Join(err, listener.Close(), operators.close(), unlock())
	}
	server, failed := a.newServer(ctx, log), make(chan error, 2)
	if server.Handler = b.server.Public(); operators.shared {
		server.Handler = b.server
	}
	server.Handler = b.traces.Handler(server.Handler)
	go func() { failed <- server.Serve(listener) }()
	if operators.listener != nil {
		admin := a.newServer(ctx, log)
		admin.Handler = b.server.Operators()
		server.RegisterOnShutdown(func() { _ = admin.Close() }) // nothing of it is worth waiting for
		go func() { failed <- admin.Serve(operators.listener) }()
	}
	watching, unwatch := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { b.reloader.run(watching) })
	watcher.Go(func() { b.skills.run(watching) })
	watcher.Go(func() { a.heed(watching, b, stop) })
	a.greet(w, b, url, operators.url, time.Since(began))
	releaseMemory() // what starting took is not needed again
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

func (a *app) newServer(ctx context.Context, log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// heed reads configuration and skills again at every SIGHUP, until ctx ends. One
// that comes because the terminal has gone stops etui.
func (a *app) heed(ctx context.Context, b *built, stop func()) {
	terminal := isTerminal(a.out)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if terminal && !isTerminal(a.out) {
				stop()
				return
			}
			b.reloader.again()
			b.skills.reload(ctx, "SIGHUP", "asked to read everything again")
		}
	}
}

// adminPlace is where the admin API listens.
type adminPlace struct {
	shared   bool         // with the gateway, which others cannot reach
	listener net.Listener // one of its own; nil when it has none
	url      string       // of the listener
}

func (p adminPlace) close() error {
	if p.listener == nil {
		return nil
	}
	return p.listener.Close()
}

// listenAdmin finds a place for the admin API. Where others can reach the gateway
// it gets a loopback address of its own.
func listenAdmin(ctx context.Context, c *config.Config, gateway net.Listener) (adminPlace, error) {
	if address, ok := gateway.Addr().(*net.TCPAddr); ok && address.IP.IsLoopback() {
		return adminPlace{shared: true}, nil
	}
	if c.Admin == "" {
		return adminPlace{}, nil
	}
	listener, err := listen(ctx, c.Admin, "admin")
	if err != nil {
		return adminPlace{}, err
	}
	return adminPlace{listener: listener, url: "http://" + listener.Addr().String()}, nil
}

// ports are those of listeners, nil ones left out.
func ports(listeners ...net.Listener) (list []uint16) {
	for _, l := range listeners {
		if l == nil {
			continue
		}
		if address, ok := l.Addr().(*net.TCPAddr); ok {
			list = append(list, uint16(address.Port))
		}
	}
	return list
}

// listen opens the port that a key of the configuration names, or says who may
// have it.
func listen(ctx context.Context, address, key string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use: another etui or program listens there; stop it, or set %s in etui.yaml or %s%s", address, key, config.Prefix, strings.ToUpper(key))
	case err != nil:
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}

// greet says where to go and what to try.
func (a *app) greet(w *workspace, b *built, url, admin string, took time.Duration) {
	catalog := b.gateway.Catalog()
	fmt.Fprintf(a.out, "etui %s serves %d tools at %s (ready in %d ms)\n", version(), catalog.Len(), url, took.Milliseconds())
	fmt.Fprintf(a.out, "  workspace  %s\n  database   %s\n  model      %s\n", home(w.dir), home(filepath.Join(w.state, "etui.db")), b.describeModels())
	if admin != "" {
		fmt.Fprintf(a.out, "  admin API  %s\n", admin)
	}
	programs := b.programs.Status()
	fmt.Fprintf(a.out, "  sandbox    %s: %s\n", programs.Mode, programs.Says)
	if !w.found {
		fmt.Fprintf(a.out, "  There is no etui.yaml; everything has its default value.\n")
	}
	fmt.Fprint(a.out, b.skills.describe())
	if b.usage.Keep {
		fmt.Fprintf(a.out, "  usage      past turns are kept; see etui usage show\n")
	}
	for _, u := range b.unknown {
		fmt.Fprintf(a.out, "  warning: the skill %q names the tool %q, which does not exist\n", u.Skill, u.Target)
	}
	for _, warning := range b.warnings {
		fmt.Fprintf(a.out, "  warning: %v\n", warning)
	}
	if b.elsewhere {
		fmt.Fprintf(a.out, "  warning: another program listens at %s; the demo's skill search_logs calls that one\n", demoAddress)
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

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

func serveCommand(at *place) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run the gateway", Args: cobra.NoArgs,
		Long: `Run the gateway of a workspace until you stop it. It serves OpenAI's chat completions at
/v1/chat/completions, where "model" is the name of an agent, and reports its health at
/healthz and /readyz. It listens on 127.0.0.1:3884 unless the configuration says otherwise.`,
		Example: "  etui serve\n  etui serve --workspace ~/team --listen 127.0.0.1:8080",
		RunE:    func(c *cobra.Command, _ []string) error { return serveWorkspace(c.Context(), at) },
	}
	listenFlag(at, c)
	return c
}

func listenFlag(at *place, c *cobra.Command) {
	c.Flags().StringVar(&at.listen, "listen", "", "address to listen on (default: as configured, 127.0.0.1:3884)")
}

func demoCommand(at *place) *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Run the gateway with the demo workspace", Args: cobra.NoArgs,
		Long: `Run the gateway with the demo workspace: hundreds of tools of an operations and office team,
served by a small service inside etui. It needs no key and no network. If OPENAI_API_KEY,
OPENAI_BASE_URL or ANTHROPIC_API_KEY is set, that language model answers, otherwise the offline model.`,
		Example: "  etui demo\n  etui demo --listen 127.0.0.1:8080",
		RunE: func(c *cobra.Command, _ []string) error {
			at.demo = true
			return serveWorkspace(c.Context(), at)
		},
	}
	listenFlag(at, c)
	return c
}

func serveWorkspace(ctx context.Context, at *place) error {
	began := time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w, err := at.open(ctx)
	if err != nil {
		return err
	}
	log := panics.CountIn(at.logger(w.Config.Log))
	slog.SetDefault(log) // of the parts that have none
	s, err := app.Listen(ctx, w, at.settings(log))
	if err != nil {
		return err
	}
	greet(at, s, time.Since(began))
	var heeding sync.WaitGroup
	heeding.Go(func() {
		defer panics.Log(nil, "heeding signals")
		heed(ctx, at, s, stop)
	})
	err = s.Run(ctx, func() {
		phrase.Fprintf(at.Err, at.Language,
			"etui: stopping; running turns may end first; a second signal ends etui at once\n")
	})
	stop()
	heeding.Wait()
	return err
}

// heed reads configuration and skills again at every SIGHUP, until ctx ends. A SIGHUP
// that comes because the terminal was closed stops etui.
func heed(ctx context.Context, at *place, s *app.Server, stop func()) {
	attached := terminal.Is(at.Out)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if attached && !terminal.Is(at.Out) {
				stop()
				return
			}
			s.Reload(ctx, "SIGHUP")
		}
	}
}

// greet says where to go and what to try.
func greet(at *place, s *app.Server, took time.Duration) {
	w := s.Workspace
	phrase.Fprintf(at.Out, at.Language, "etui %s serves %s at %s (ready in %d ms)\n", version(),
		phrase.Count(at.Language, s.Engine.Catalog().Len(), "tool"), s.URL, took.Milliseconds())
	phrase.Fprintf(at.Out, at.Language, "  workspace  %s\n  database   %s\n  model      %s\n",
		terminal.ShortPath(w.Dir), terminal.ShortPath(state.Database(w)), s.Models(at.Language))
	if s.Admin != "" {
		phrase.Fprintf(at.Out, at.Language, "  admin API  %s\n", s.Admin)
	}
	if at.OnTerminal() { // a log would keep the link
		phrase.Fprintf(at.Out, at.Language, "  console    %s%s\n", cmp.Or(s.Admin, s.URL),
			s.HTTP.ConsolePath("an operator"))
	}
	programs := s.Sandbox()
	fmt.Fprint(at.Out, terminal.Hang("  "+terminal.Pad(at.Say("sandbox"), 9)+"  ",
		phrase.In(at.Language, "%s: %s", programs.Mode, phrase.Word(at.Language, programs.Says)), terminal.Width()))
	if !w.Found {
		phrase.Fprintf(at.Out, at.Language, "  There is no etui.yaml; everything has its default value.\n")
	}
	if all, failed := s.Skills().Snapshot().All(), s.Skills().Snapshot().Failed(); len(all)+len(failed) > 0 {
		text := phrase.In(at.Language, "%d of %d enabled", len(s.Skills().ListEnabled()), len(all))
		if len(failed) > 0 {
			text += phrase.In(at.Language, ", %s cannot be used", phrase.Count(at.Language, len(failed), "file"))
		}
		phrase.Fprintf(at.Out, at.Language, "  skills     %s; see etui skills list\n", text)
	}
	if list := w.Config.Channels; len(list) > 0 {
		names := make([]string, len(list))
		for i, c := range list {
			names[i] = c.Name
		}
		phrase.Fprintf(at.Out, at.Language, "  channels   %s; see etui channels list\n", strings.Join(names, ", "))
	}
	if s.Config.Learning.Keep {
		phrase.Fprintf(at.Out, at.Language, "  usage      past turns are kept; see etui usage show\n")
	}
	for _, warning := range slices.Concat(s.Mistakes.Unknown, s.Mistakes.Later, s.Warnings) {
		phrase.Fprintf(at.Out, at.Language, "  warning: %v\n", warning)
	}
	if s.DemoElsewhere() {
		phrase.Fprintf(at.Out, at.Language,
			"  warning: another program listens at %s; the demo's skill search_logs calls that one\n", app.DemoAddress)
	}
	if w.Config.Demo {
		fmt.Fprint(at.Out, hints(at.Language, s.URL))
	}
}

const tryThis = `
Try in a second terminal:
  ETUI chat -m "show me the error logs of the checkout pod in namespace prod"
  ETUI chat -m "帮我查一下 prod 命名空间里 checkout pod 的错误日志"
  ETUI select "how many vacation days do I have left?"
  ETUI chat                            talk; /help lists the commands
  ETUI tools list --group finance      the tools themselves
  curl URL/v1/chat/completions -d '{"model":"main","messages":[{"role":"user","content":"weather in Berlin tomorrow?"}]}'

Stop with Ctrl-C.
`

// hints says what to try with the demo at a URL. Commands find a gateway at the usual
// address by themselves, unless they run in another workspace.
func hints(lang, url string) string {
	etui := program()
	if _, err := os.Stat(config.File); err == nil || url != "http://127.0.0.1:3884" {
		etui += " --demo"
	}
	return strings.NewReplacer("ETUI", etui, "URL", url).Replace(phrase.In(lang, tryThis))
}

// program is how this program was called.
func program() string {
	if name := os.Args[0]; strings.Contains(name, "/") && !strings.Contains(name, " ") {
		return name
	}
	return "etui"
}

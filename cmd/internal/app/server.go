package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
)

// Server is an [App] that listens where its configuration says.
type Server struct {
	*App
	// URL is where the gateway listens. Admin is the admin API's own address; empty
	// means that it has none.
	URL, Admin string

	listener, operators net.Listener // operators is nil without an address of its own
}

// Listen opens the ports of a workspace and makes its engine. Requests are answered as
// soon as [Server.Run] runs.
//
// If another process still uses the port or the state folder, Listen waits for a second,
// and for longer if that process is stopping: a restart need not wait by itself.
func Listen(ctx context.Context, w *workdir.Workspace, c Config) (*Server, error) {
	for began := time.Now(); ; {
		s := &Server{}
		err := s.listen(ctx, w, c)
		if err == nil {
			return s, nil
		}
		err = errors.Join(err, s.closePorts())
		var running *workdir.RunningError
		if !errors.As(err, &running) && !errors.Is(err, workdir.ErrInUse) {
			return nil, err
		}
		patience := time.Second
		if w.Instance().Stopping {
			patience = grace + 5*time.Second
		}
		if time.Since(began) > patience {
			return nil, err
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return nil, err
		}
	}
}

func (s *Server) listen(ctx context.Context, w *workdir.Workspace, c Config) (err error) {
	if s.listener, err = workdir.Listen(ctx, w.Config.Listen, "listen"); err != nil {
		return err
	}
	s.URL = "http://" + s.listener.Addr().String()
	w.Ports = []uint16{port(s.listener)}
	if !s.private() && w.Config.Admin != "" {
		if s.operators, err = workdir.Listen(ctx, w.Config.Admin, "admin"); err != nil {
			return err
		}
		s.Admin = "http://" + s.operators.Addr().String()
		w.Ports = append(w.Ports, port(s.operators))
	}
	c.Stored, c.urls = true, workdir.Instance{URL: s.URL, Admin: s.Admin, Key: rand.Text()}
	s.App, err = New(ctx, w, c)
	return err
}

func (s *Server) closePorts() (err error) {
	for _, l := range []net.Listener{s.listener, s.operators} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// private reports whether only this machine reaches the gateway. Its admin API is
// served on the same port then.
func (s *Server) private() bool {
	address, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// Run serves until ctx ends, and watches the configuration and the skills. Then it
// calls stopping, lets running turns end for some seconds, and closes everything.
func (s *Server) Run(ctx context.Context, stopping func()) error {
	server, failed := s.server(ctx), make(chan error, 2)
	if server.Handler = s.HTTP.Public(); s.private() {
		server.Handler = s.HTTP
	}
	server.Handler = s.skills.traces.Handler(server.Handler)
	go func() {
		failed <- panics.Try(s.settings.Log, "serving", func() error { return server.Serve(s.listener) })
	}()
	if s.operators != nil {
		admin := s.server(ctx)
		admin.Handler = s.HTTP                                  // the console uses the other routes, too
		server.RegisterOnShutdown(func() { _ = admin.Close() }) // it has nothing worth waiting for
		go func() {
			failed <- panics.Try(s.settings.Log, "serving", func() error { return admin.Serve(s.operators) })
		}()
	}
	watching, unwatch := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for doing, watch := range map[string]func(context.Context){
		"watching the configuration": s.reloader.run, "watching the skills": s.skills.run,
		"removing old conversations": s.sweep, "following the API keys": s.followKeys,
		"watching the clock":            s.clock.Run,
		"keeping the texts about tools": s.tools.texts.Run, "running the channels": s.tools.channels.Run,
		"giving memory back":  s.giveBack,
		"fitting the weights": s.tuner.Run,
	} {
		watchers.Go(func() {
			defer panics.Log(s.settings.Log, doing)
			watch(watching)
		})
	}
	releaseMemory()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		stopping()
		if failed := s.Workspace.MarkStopping(); failed != nil {
			s.settings.Log.WarnContext(ctx, "a restart may not wait for the end", "error", failed)
		}
		// While turns end, the server answers: a client that asks now learns that etui stops.
		if left := s.stop(ctx); left > 0 {
			s.settings.Log.WarnContext(ctx,
				"messages stay in the inbox; the next start, or another etui with the same store, answers them",
				"messages", left)
		}
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		if err = server.Shutdown(ending); err != nil {
			err = server.Close()
		}
		cancel()
	}
	unwatch()
	watchers.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.Close())
}

// lastAnswers is how long the last answers may take to reach their clients.
const lastAnswers = 2 * time.Second

func (s *Server) server(ctx context.Context) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(s.settings.Log.Handler(), slog.LevelWarn), MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// Reload reads the configuration and all files of skills again. The configuration
// takes effect soon after it returns.
func (s *Server) Reload(ctx context.Context, by string) {
	s.reloader.again()
	s.skills.reload(ctx, by, "asked to read everything again")
}

func port(l net.Listener) uint16 {
	if address, ok := l.Addr().(*net.TCPAddr); ok {
		return uint16(address.Port)
	}
	return 0
}

// Package postgrestest runs a PostgreSQL server of its own for tests: in a temporary
// folder, reached by a socket there, gone with the process. It runs Debian's package
// postgresql, initdb and postgres on PATH, or what `make test` has fetched.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/internal/panics"
)

// Server is a PostgreSQL server.
type Server struct {
	dir, bin string
	as       *syscall.Credential // nil: as this process
	said     bytes.Buffer
	process  *os.Process
	ended    chan struct{}
	made     int      // databases
	free     []string // those of tests that have ended
}

// ErrMissing says that PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: `make test` fetches it once")

// For makes a server that lives as long as a test. Without PostgreSQL the test is left out.
func For(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if errors.Is(err, ErrMissing) {
		leftout.Without(t, "PostgreSQL")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Start makes a server. The caller ends it with Close. It returns [ErrMissing] where PostgreSQL
// is not installed.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // a short path: that of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if os.Getuid() == 0 { // PostgreSQL refuses root
		s.as = &syscall.Credential{Uid: 65534, Gid: 65534} // nobody
		if strings.Contains(bin, fetched) {                // nobody may not read the checkout of root
			s.bin = filepath.Join(dir, "programs", "bin")
			if err := os.CopyFS(filepath.Join(dir, "programs"), os.DirFS(filepath.Dir(bin))); err != nil {
				return nil, err
			}
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			return nil, err
		}
	}
	initdb := exec.CommandContext(context.Background(), filepath.Join(bin, "initdb"), "-D", dir+"/data", "-U", "etui",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: s.as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), os.RemoveAll(dir))
	}
	if err := s.Run(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// programs returns the folder of initdb and postgres.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	newest, most := "", 0
	for _, path := range found {
		if n, _ := strconv.Atoi(strings.Split(path, "/")[4]); n > most {
			newest, most = filepath.Dir(path), n
		}
	}
	if newest != "" {
		return newest, nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	for dir, err := os.Getwd(); err == nil; dir = filepath.Dir(dir) {
		if found, _ := filepath.Glob(filepath.Join(dir, fetched, "@embedded-postgres/*/native/bin")); len(found) > 0 {
			return found[0], nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", ErrMissing
}

// fetched is where `make test` puts PostgreSQL, seen from the top of the checkout.
const fetched = "store/postgrestest/testdata/npm/node_modules"

// Run starts the server again after Stop, and returns when it answers.
func (s *Server) Run() error {
	var err error
	for began := time.Now(); time.Since(began) < 30*time.Second; <-time.After(100 * time.Millisecond) {
		if err = s.run(); err == nil { // parts of a killed server may live on for a moment
			return nil
		}
	}
	return err
}

func (s *Server) run() error {
	s.said.Reset()
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, "postgres"), "-D", s.dir+"/data", "-k", s.dir)
	for _, setting := range []string{
		"listen_addresses=", "shared_buffers=32MB", "autovacuum=off",
		"fsync=off", "full_page_writes=off", // it survives its own death, not that of the machine
		"wal_level=minimal", "max_wal_senders=0", // a new database is two thirds cheaper
	} {
		cmd.Args = append(cmd.Args, "-c", setting)
	}
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGINT}
	cmd.Stdout, cmd.Stderr = &s.said, &s.said
	began := make(chan error)
	ended := make(chan struct{})
	go func() {
		defer panics.Log(nil, "waiting for PostgreSQL")
		defer close(ended)
		runtime.LockOSThread() // the server ends with the thread that started it
		err := cmd.Start()
		began <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-began; err != nil {
		return err
	}
	s.process, s.ended = cmd.Process, ended
	for {
		conn, err := pgx.Connect(context.Background(), s.URL("postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-ended:
			return fmt.Errorf("PostgreSQL ended: %s", s.said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the server with a signal: SIGINT closes it, SIGQUIT makes it recover at its
// next start.
func (s *Server) Stop(signal syscall.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Signal(signal) // it may have ended
	<-s.ended
	s.process = nil
}

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	s.Stop(syscall.SIGQUIT)
	return os.RemoveAll(s.dir)
}

// Dir is the folder of the server's socket.
func (s *Server) Dir() string { return s.dir }

// URL returns the address of a database.
func (s *Server) URL(database string) string {
	return "postgres://etui@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// Exec runs statements in a database, each in a transaction of its own.
func (s *Server) Exec(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	for _, sql := range statements {
		if err == nil {
			_, err = conn.Exec(ctx, sql)
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

// Database returns the address of a database that is empty, but for the schema public. It is the
// test's own. A test that comes later gets it emptied: a new one has hundreds of files.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name, database, statement := "", "postgres", ""
	if n := len(s.free); n > 0 {
		name, s.free = s.free[n-1], s.free[:n-1]
		database, statement = name, "DROP SCHEMA IF EXISTS etui CASCADE"
	} else {
		s.made++
		name = fmt.Sprint("t", s.made)
		statement = "CREATE DATABASE " + name
	}
	if err := s.Exec(context.Background(), database, statement); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.free = append(s.free, name) })
	return s.URL(name)
}

// Main runs the tests of a package with a server, and returns the exit code. It is for
// TestMain. Without PostgreSQL all of them are left out.
func Main(m *testing.M, s **Server) int {
	var err error
	*s, err = Start()
	if errors.Is(err, ErrMissing) && leftout.Refused("PostgreSQL") == nil {
		fmt.Fprintln(os.Stdout, leftout.Line("PostgreSQL"))
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := (*s).Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

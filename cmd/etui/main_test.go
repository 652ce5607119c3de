package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"etui": main,
	})
}

// programs is a folder with the etui of the scripts. What serves clients is the test's own
// program, under the race detector if the tests are; a command that does one thing and
// ends is an ordinary build, which starts several times faster. The scripts start hundreds.
// make test has built it, and TEST_ETUI is its path; without that it is built here.
var programs = sync.OnceValues(func() (string, error) {
	own, err := exec.LookPath("etui") // that of TestMain, whose folder is removed in the end
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(own)
	plain, choice := os.Getenv("TEST_ETUI"), filepath.Join(dir, "scripts", "etui")
	if plain == "" {
		plain = filepath.Join(dir, "plain", "etui")
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", plain, ".").CombinedOutput(); err != nil {
			return "", fmt.Errorf("building etui: %w\n%s", err, out)
		}
	} else if _, err := os.Stat(plain); err != nil { // and go test notices when it changes
		return "", fmt.Errorf("TEST_ETUI: %w", err)
	}
	if err := os.Mkdir(filepath.Dir(choice), 0o700); err != nil {
		return "", err
	}
	text := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in\n*\" serve \"* | *\" demo \"*) exec '%s' \"$@\" ;;\nesac\nexec '%s' \"$@\"\n", own, plain)
	return filepath.Dir(choice), os.WriteFile(choice, []byte(text), 0o700)
})

// TestScripts runs the program as a user would: see testdata/scripts.
func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams(t, "testdata/scripts"))
}

// scriptParams are what the scripts of a folder have.
func scriptParams(t *testing.T, dir string) testscript.Params {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	programs, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", programs+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", e.WorkDir)
			// The state is outside of the workspace, as it has to be, and scripts name it as state/.
			inside, state := filepath.Join(e.WorkDir, "state"), e.WorkDir+"-state"
			err := os.Rename(inside, state)
			if errors.Is(err, fs.ErrNotExist) {
				err = os.Mkdir(state, 0o700)
			}
			if err := errors.Join(err, os.Symlink(state, inside)); err != nil {
				return err
			}
			e.Setenv("XDG_STATE_HOME", state)
			e.Setenv("ETUI_TRUST", e.WorkDir) // the configurations of scripts; unconfirmed is without it
			e.Setenv("NO_COLOR", "1")
			e.Setenv("ETUI_LISTEN", "127.0.0.1:0")
			e.Setenv("COLUMNS", "110")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each command takes a second longer under -race
			e.Setenv("GOGC", "400")                 // a third of a short command is the collector's
			// For scripts that build Go: nothing is fetched.
			e.Setenv("REPO", repository)
			e.Setenv("GOCACHE", cache)
			e.Setenv("GOMODCACHE", modules)
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOFLAGS", "-mod=mod -ldflags=-s")
			return nil
		},
		Condition: missing,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"fixture":  fixture,
			"gateway":  gatewayEnv,
			"http":     httpRequest,
			"keep":     keep,
			"shows":    shows,
			"until":    until,
			"write":    write,
		},
	}
}

// missing is the condition of a script that needs a program: [without:npm]. It holds where the
// program is not installed, and fails the script if all tests are to run.
func missing(condition string) (bool, error) {
	program, ok := strings.CutPrefix(condition, "without:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	if _, err := exec.LookPath(program); err == nil {
		return false, nil
	}
	return true, leftout.Refused(program)
}

// fixture copies the files of testdata/fixtures/NAME into the script's folder, before
// anything runs there: fixture NAME.
func fixture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fixture NAME")
	}
	ts.Check(os.CopyFS(ts.MkAbs("."), os.DirFS(filepath.Join("testdata", "fixtures", args[0]))))
}

// gatewayEnv waits for the gateway of a state folder, which may be a pattern, and sets
// URL, ADDRESS and PID: gateway FOLDER.
func gatewayEnv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gateway FOLDER")
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		folders, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, folder := range folders {
			running := instance(folder)
			if running.URL != "" {
				ts.Setenv("PID", strconv.Itoa(running.PID))
				ts.Setenv("URL", running.URL)
				ts.Setenv("ADDRESS", strings.TrimPrefix(running.URL, "http://"))
				return
			}
		}
	}
	ts.Fatalf("no gateway serves %s after 20 s", args[0])
}

// keep sets a variable to what the brackets of a pattern match in the last standard output:
// keep NAME PATTERN.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep NAME PATTERN")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// instance reads which process uses a state folder.
func instance(state string) (i workdir.Instance) {
	if raw, err := os.ReadFile(filepath.Join(state, "instance.json")); err == nil {
		_ = json.Unmarshal(raw, &i) // it may be written just now
	}
	return i
}

// httpRequest sends a request and writes status and body to standard output: http
// METHOD URL [HEADER=VALUE ...] [BODY].
func httpRequest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http METHOD URL [HEADER=VALUE ...] [BODY]")
	}
	var body string
	headers := map[string]string{}
	for _, arg := range args[2:] {
		if name, value, ok := strings.Cut(arg, "="); ok && !strings.HasPrefix(arg, "{") {
			headers[name] = value
		} else {
			body = arg
		}
	}
	req, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	for name, value := range headers {
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d %s", resp.StatusCode, text)
	ts.Check(err)
}

// until runs a command again and again until its output, or what it writes to
// standard error, matches: until PATTERN COMMAND...
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND [ARGUMENT ...]")
	}
	pattern := regexp.MustCompile(args[0])
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...) // what it prints counts
		if pattern.MatchString(ts.ReadFile("stdout")) || pattern.MatchString(ts.ReadFile("stderr")) {
			return
		}
	}
	ts.Fatalf("%v never printed %s:\n%s%s", args[1:], args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

// exitCode runs a command and holds its exit code: exitcode N COMMAND...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND [ARGUMENT ...]")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = "1"
		if e, ok := err.(interface{ ExitCode() int }); ok {
			code = string(rune('0' + e.ExitCode()))
		}
	}
	if code != args[0] {
		ts.Fatalf("%v ended with code %s, want %s", args[1:], code, args[0])
	}
}

// Package packaging_test starts what the compose files start, without a container engine.
package packaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/store/postgrestest"
)

// service is the part of a service of a compose file that the test acts on.
type service struct {
	Image       string    `yaml:"image"`
	ReadOnly    bool      `yaml:"read_only"`
	User        string    `yaml:"user"`
	Environment yaml.Node `yaml:"environment"`
	Volumes     []string  `yaml:"volumes"`
	Tmpfs       []string  `yaml:"tmpfs"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

const key = "key-of-a-client-of-the-test"

// TestCompose starts the etui of each compose file: with the variables, the user and the
// volumes of the file, the entry point of the Containerfile, and a root that is read-only.
// It asks each a question and runs its health check. In place of the network of the
// containers, PostgreSQL is behind a socket and each etui has a port of its own.
func TestCompose(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("containers are Linux")
	}
	db := postgrestest.For(t)
	if err := os.Chmod(db.Dir(), 0o711); err != nil { // the containers' user passes
		t.Fatal(err)
	}
	for file, want := range map[string]int{"compose.yaml": 1, "compose-postgres.yaml": 3} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var compose struct {
				Services map[string]service `yaml:"services"`
			}
			if err := yaml.Unmarshal(text, &compose); err != nil {
				t.Fatal(err)
			}
			config, err := os.ReadFile("etui.yaml")
			if err != nil {
				t.Fatal(err)
			}
			shared, socket := t.TempDir(), ""
			if want > 1 {
				url := regexp.MustCompile(`postgres://\S+`).FindString(string(text)) // as the file says
				url = strings.Replace(url, "@db:5432/etui", "@/"+filepath.Base(strings.Split(db.Database(t), "?")[0])+"?host=/db", 1)
				config = append(config, "store: "+url+"\n"...)
				socket = db.Dir()
			}
			etuis := 0
			for name, s := range compose.Services {
				if s.Image != "etui:latest" {
					continue
				}
				etuis++
				t.Run(name, func(t *testing.T) { start(t, s, config, shared, socket) })
			}
			if etuis != want {
				t.Errorf("%d services run etui, want %d", etuis, want)
			}
		})
	}
}

// start runs one service and asks it.
func start(t *testing.T, s service, config []byte, shared, socket string) {
	if !s.ReadOnly || s.User == "" || strings.HasPrefix(s.User, "0") {
		t.Errorf("it may write its root, or runs as root: %+v", s)
	}
	root := filepath.Join(t.TempDir(), "root")
	binary := os.Getenv("TEST_ETUI") // make test has built it
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "etui")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/etui").CombinedOutput(); err != nil {
			t.Fatalf("building etui: %v\n%s", err, out)
		}
	}
	mounts := "" // source and target, a line each
	volume := func(target, source string) {
		if err := os.MkdirAll(filepath.Join(root, target), 0o755); err != nil {
			t.Fatal(err)
		}
		mounts += source + " " + filepath.Join(root, target) + "\n"
	}
	empty := func(target string) {
		dir := filepath.Join(t.TempDir(), "volume")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil { // a new volume belongs to the image's user
			t.Fatal(err)
		}
		volume(target, dir)
	}
	for _, dir := range []string{"usr/bin", "etc/etui", "proc", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"} { // etui of the test may be linked to libc
		if info, err := os.Lstat(dir); err != nil {
			continue
		} else if info.IsDir() {
			volume(dir, dir)
		} else if link, err := os.Readlink(dir); err == nil {
			if err := os.Symlink(link, filepath.Join(root, dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc/etui/etui.yaml"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", binary, filepath.Join(root, "usr/bin/etui")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, v := range s.Volumes {
		source, target, _ := strings.Cut(v, ":")
		switch target, _, _ = strings.Cut(target, ":"); source {
		case "./etui.yaml":
			if target != "/etc/etui/etui.yaml" {
				t.Errorf("etui.yaml is at %s", target)
			}
		case "workspace":
			if err := os.Chmod(shared, 0o777); err != nil {
				t.Fatal(err)
			}
			volume(target, shared)
		default:
			empty(target)
		}
	}
	for _, v := range s.Tmpfs {
		target, _, _ := strings.Cut(v, ":")
		empty(target)
	}
	if socket != "" {
		volume("db", socket)
	}
	address := free(t)
	env := append(variables(t, s), "ETUI_LISTEN="+address)
	served := container(t.Context(), root, mounts, s.User, env, entryPoint(t))
	var log bytes.Buffer
	served.Stdout, served.Stderr = &log, &log
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- served.Wait() }()
	t.Cleanup(func() {
		_ = served.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	for {
		status, body, err := ask(t.Context(), address)
		if err == nil && status == http.StatusOK && json.Unmarshal(body, &answer) == nil {
			break
		}
		if err == nil && status != http.StatusServiceUnavailable {
			t.Fatalf("%d: %s", status, body)
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("etui ended: %v\n%s", err, log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if len(answer.Choices) != 1 || answer.Choices[0].Message.Content == "" {
		t.Errorf("the answer: %+v", answer)
	}
	if s.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("the health check is %q", s.Healthcheck.Test)
	}
	check := strings.Split(strings.ReplaceAll(strings.Join(s.Healthcheck.Test[1:], "\n"), "127.0.0.1:3884", address), "\n")
	check[0] = "/usr/bin/" + check[0]
	if out, err := container(t.Context(), root, mounts, s.User, env, check).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("main")) {
		t.Errorf("the health check: %v\n%s", err, out)
	}
}

// container returns a command in a root of its own, which is read-only but for its mounts.
func container(ctx context.Context, root, mounts, user string, env, args []string) *exec.Cmd {
	const script = `set -e
mount --bind "$1" "$1"
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -o remount,bind,ro "$1"
while read -r source target; do [ -z "$source" ] || mount --bind "$source" "$target"; done <<.
$2
.
root=$1 user=$3
shift 3
[ -z "$user" ] || user=--userspec=$user
exec chroot $user "$root" /usr/bin/etui "$@"`
	unshare := []string{"--mount", "--propagation", "private"}
	if os.Getuid() != 0 { // an ordinary user is root in a name space, and nobody special outside
		unshare, user = append(unshare, "--map-root-user"), ""
	}
	cmd := exec.CommandContext(ctx, "unshare", append(unshare, append([]string{"sh", "-c", script, "sh", root, mounts, user}, args[1:]...)...)...)
	cmd.Env = append(env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	return cmd
}

// variables returns the environment of a container: that of the image, and what the compose
// file passes on.
func variables(t *testing.T, s service) []string {
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Fields(regexp.MustCompile(`(?m)^ENV (.*)$`).FindStringSubmatch(string(text))[1])
	var passed []string
	if err := s.Environment.Decode(&passed); err != nil {
		t.Fatal(err)
	}
	for _, name := range passed {
		switch name {
		case "ETUI_API_KEY":
			env = append(env, name+"="+key)
		case "DB_PASSWORD":
			env = append(env, name+"=secret")
		}
	}
	return env
}

// entryPoint returns what the image runs.
func entryPoint(t *testing.T) []string {
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, word := range []string{"ENTRYPOINT", "CMD"} {
		var part []string
		if err := json.Unmarshal(regexp.MustCompile(`(?m)^` + word + ` (.*)$`).FindSubmatch(text)[1], &part); err != nil {
			t.Fatal(err)
		}
		args = append(args, part...)
	}
	return args
}

func ask(ctx context.Context, address string) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(`{"model":"main","messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// free returns an address that nobody listens on.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}

package login_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/etui-run/etui/cmd/internal/login"
)

// TestHand: the arguments of the browser hold no secret, and the page that they name gives it to this
// user alone.
func TestHand(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // elsewhere the link is an argument
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "arguments")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" > "+fifo+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	const link = "http://127.0.0.1:3884/console/#the-secret"
	ended := make(chan error)
	go func() { ended <- login.Hand(t.Context(), link) }()
	text, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.TrimSpace(string(text))
	if strings.Contains(page, "secret") {
		t.Errorf("others read %s", page)
	}
	if os.Getuid() == 0 {
		host, path, _ := strings.Cut(strings.TrimPrefix(page, "http://"), "/")
		at, port, _ := strings.Cut(host, ":")
		other := exec.CommandContext(t.Context(), "bash", "-c", "exec 3<>/dev/tcp/"+at+"/"+port+
			` && printf 'GET /`+path+` HTTP/1.0\r\n\r\n' >&3 && cat <&3`)
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := other.CombinedOutput(); err != nil || !strings.Contains(string(out), "404") {
			t.Errorf("another user gets %v %s", err, out)
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if at := got.Header.Get("Location"); at != link {
		t.Errorf("the browser is sent to %q", at)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

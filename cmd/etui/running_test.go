package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/etui/internal/top"
	"github.com/etui-run/etui/inbox"
)

// TestRunningInTwo: of two gateways over one PostgreSQL, each shows an operator the turn that runs at the
// other one, and which process that is, and a stop reaches it from there.
func TestRunningInTwo(t *testing.T) {
	t.Parallel()
	one, two := openTwo(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ runs, looks *shop }{{one, two}, {two, one}} {
		said := make(chan string, 1)
		go func() {
			said <- c.runs.request(http.MethodPost, "/api/chat", `{"text":"take your time","user":"zoe","session":"slow"}`, nil)
		}()
		process := fmt.Sprintf("%s-%d-", host, c.runs.process.Process.Pid)
		var shown top.Turn
		for began := time.Now(); shown.State != top.Runs; time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				c.looks.log("the other gateway shows %+v", shown)
			}
			out, err := c.looks.etui("top", "--once", "--json")
			var r top.Reading
			if err == nil {
				err = json.Unmarshal(out, &r)
			}
			if err != nil {
				c.looks.log("top: %v: %s", err, out)
			}
			for _, i := range r.Turns {
				if i.User == "zoe" {
					shown = i
				}
			}
		}
		if !strings.HasPrefix(shown.Process, process) {
			t.Errorf("the turn runs at %q, want %s…", shown.Process, process)
		}
		if out, err := c.looks.etui("top", "--once"); err != nil || !strings.Contains(string(out), "at another process: "+process) {
			t.Errorf("top prints %v: %s", err, out)
		}
		stopped := c.looks.request(http.MethodPost, "/admin/sessions/"+string(shown.Session)+"/stop", "{}", nil)
		if !strings.Contains(stopped, `{"stopped":true}`) {
			t.Errorf("the stop is answered with %s", stopped)
		}
		select {
		case text := <-said:
			if !strings.Contains(text, `"stopped":true`) {
				t.Errorf("the sender reads %s", text)
			}
		case <-time.After(30 * time.Second):
			c.runs.log("the turn goes on")
		}
		for _, s := range []*shop{one, two} {
			var left []inbox.Item
			if s.request(http.MethodGet, "/admin/inbox", "", &left); len(left) > 0 {
				t.Errorf("there is %+v", left)
			}
		}
	}
}

// request asks the gateway, and reads its answer into v, unless that is nil.
func (s *shop) request(method, path, body string, v any) string {
	r, err := http.NewRequest(method, s.gateway+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && v != nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(v)
	}
	if err != nil {
		s.Errorf("%s %s: %v: %s", method, path, err, text)
	}
	return string(text)
}

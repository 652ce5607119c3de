package server_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/server"
)

// TestTrialsAreBounded: one preview or evaluation runs at a time, and not for ever, whoever asks.
func TestTrialsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, server.Config{
			Key:  "right",
			File: &console.File{Check: func([]byte) error { return nil }},
			Preview: func(ctx context.Context, _ string, _ []inspect.PastTurn) (preview.Result, error) {
				<-ctx.Done()
				return preview.Result{}, ctx.Err()
			},
		}, nil)
		begun, ended := time.Now(), make(chan int)
		send := func(path, body string) int {
			status, _ := ask(t.Context(), s, "POST", "http://localhost"+path, body, "Authorization", "Bearer right")
			return status
		}
		go func() { ended <- send("/admin/configuration/preview", `{"text":"a: b"}`) }()
		synctest.Wait()
		for path, body := range map[string]string{"/admin/configuration/preview": `{"text":"a: b"}`, "/admin/ranking/evaluate": `{"questions":[{"text":"hi","tools":[]}]}`} {
			if got := send(path, body); got != http.StatusTooManyRequests {
				t.Errorf("a second one at %s: %d", path, got)
			}
		}
		if got := <-ended; got != http.StatusGatewayTimeout || time.Since(begun) > time.Minute {
			t.Errorf("the first one: %d after %v", got, time.Since(begun))
		}
		if got := send("/admin/ranking/evaluate", `{"questions":[{"text":"hi","tools":["x"]}]}`); got != http.StatusOK {
			t.Errorf("the next one: %d", got)
		}
	})
}

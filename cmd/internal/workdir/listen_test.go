package workdir_test

import (
	"net"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/phrase"
)

// TestListenInUse: an address that is taken is told with what to do next, whole in each language.
func TestListenInUse(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for key, want := range map[string][2]string{
		"listen":  {"start etui with --listen, or set listen in etui.yaml or ETUI_LISTEN", "或用 --listen 启动 etui，或在 etui.yaml 中设置 listen，或设置 ETUI_LISTEN"},
		"metrics": {"stop it, or set metrics in etui.yaml or ETUI_METRICS", "请停止它，或在 etui.yaml 中设置 metrics，或设置 ETUI_METRICS"},
	} {
		_, err := workdir.Listen(t.Context(), taken.Addr().String(), key)
		if err == nil || !strings.HasSuffix(err.Error(), want[0]) || !strings.HasSuffix(phrase.Say(phrase.Chinese, err), want[1]) {
			t.Errorf("%s: %v, in Chinese %s", key, err, phrase.Say(phrase.Chinese, err))
		}
	}
}

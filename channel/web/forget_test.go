package web_test

import (
	"testing"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/store"
)

// Forgetting removes the messages of a chat, of this person and this channel alone.
func TestForgetPerson(t *testing.T) {
	t.Parallel()
	records := &store.Memory{}
	c, err := web.New(web.Config{Name: "web", Secrets: []string{secret}, Records: records})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"web/4711", "web/4712", "shop/4711"} {
		for _, kind := range []string{"channel-web", "channel-web-seen"} {
			if err := records.Put(t.Context(), kind, key, []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var f channel.Forgetter = c
	for i, want := range []bool{true, false} {
		if found, err := f.Forget(t.Context(), "4711"); err != nil || found != want {
			t.Errorf("%d: found %v, %v", i, found, err)
		}
	}
	for _, kind := range []string{"channel-web", "channel-web-seen"} {
		left, err := records.Records(t.Context(), kind)
		if err != nil || len(left) != 2 {
			t.Errorf("left of %s: %v, %v", kind, left, err)
		}
	}
}

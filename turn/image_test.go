package turn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// TestImages: the model sees the pictures of its turn, up to a limit, and none of
// them is stored.
func TestImages(t *testing.T) {
	picture := make([]byte, 5<<20)
	look := tool.Func(tool.Definition{Name: "look", Risk: tool.Read}, func(context.Context, city) (chat.Result, error) {
		return chat.Result{Text: "a picture", Images: []chat.File{{MediaType: "image/png", Data: picture}}}, nil
	})
	call := func(id string) chat.Call { return fake.Call(id, "look", `{"city":"x"}`) }
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{look},
		fake.Step{Calls: []chat.Call{call("1"), call("2")}}, fake.Step{Calls: []chat.Call{call("3")}}, fake.Step{Text: "I see."})
	o := run(b, t.Context(), turn.Input{Text: "look"})
	if o.err != nil {
		t.Fatal(o.err)
	}
	requests := b.model.Requests()
	seen := 0
	for _, m := range requests[len(requests)-1].Messages {
		if m.Result != nil {
			seen += len(m.Result.Images)
		}
	}
	if seen != 2 {
		t.Errorf("the model sees %d pictures, want 2", seen)
	}
	for i, r := range o.results() {
		if len(r.Images) > 0 {
			t.Errorf("the picture of result %d is stored", i+1)
		}
		if late := strings.Contains(r.Text, "is not shown"); late != (i == 2) {
			t.Errorf("result %d says %q", i+1, r.Text)
		}
	}
}

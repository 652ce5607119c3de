package anthropic_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/tool"
)

// png is a picture of one red pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// TestPicturesOfTheWeb: a picture with an address is fetched as a call of web_fetch, in a message and in a
// result, and refused with the reason.
func TestPicturesOfTheWeb(t *testing.T) {
	red, _ := base64.StdEncoding.DecodeString(png)
	type page struct {
		URL string `json:"url"`
	}
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "web_fetch", Risk: tool.Read}, func(_ context.Context, p page) (chat.Result, error) {
		if strings.HasSuffix(p.URL, "text") {
			return chat.Result{Text: "hello"}, nil
		}
		return chat.Result{Images: []chat.File{{Data: red}}}, nil
	})); err != nil {
		t.Fatal(err)
	}
	m := fake.New(fake.Step{Text: "red"})
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}})
	if err != nil {
		t.Fatal(err)
	}
	a := anthropic.New(e, wire.NewModels(e, nil))
	ask := func(url string) (int, string) {
		image := `{"type":"image","source":{"type":"url","url":"` + url + `"}}`
		return post(a.Messages, `{"model":"main","max_tokens":9,"messages":[{"role":"user","content":[`+image+`,{"type":"text","text":"look"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[`+image+`]}]},
			{"role":"assistant","content":"so"},{"role":"user","content":"and?"}]}`)
	}
	if status, body := ask("https://example.com/a"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	seen := 0
	for _, said := range m.Requests()[0].Messages {
		files := said.Files
		if said.Result != nil {
			files = said.Result.Images
		}
		for _, f := range files {
			if seen++; !slices.Equal(f.Data, red) || f.MediaType != "image/png" {
				t.Errorf("the model gets %+v", f)
			}
		}
	}
	if seen != 2 {
		t.Errorf("the model gets %d pictures", seen)
	}
	for url, says := range map[string]string{
		"https://example.com/text": "there is no picture", "file:///etc/passwd": "must begin with http", "": "must begin with http",
	} {
		if status, body := ask(url); status != http.StatusBadRequest || !strings.Contains(body, says) || !strings.Contains(body, "invalid_request_error") {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
}

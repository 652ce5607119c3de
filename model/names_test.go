package model_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 64)
	own := []string{"files.read", "files_read", "files-read", long, long + ".y", long + ".z", "время", "", "天气", "7zip", "-x"}
	req := model.Request{}
	for _, name := range own[:3] {
		req.Tools = append(req.Tools, tool.Definition{Name: name})
	}
	for _, name := range own[3:] {
		req.Messages = append(req.Messages, chat.Message{Calls: []chat.Call{{Name: name}}})
	}
	names := model.NewNames(req)
	allowed := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	seen := map[string]bool{}
	for _, name := range own {
		there := names.Provider(name)
		if !allowed.MatchString(there) || seen[there] {
			t.Errorf("%q becomes %q", name, there)
		}
		seen[there] = true
		if back := names.Own(there); back != name {
			t.Errorf("%q becomes %q and comes back as %q", name, there, back)
		}
	}
	if got := names.Provider("files.read"); got != "files_read" {
		t.Errorf("files.read becomes %s", got)
	}
	if got := names.Own("unknown"); got != "unknown" {
		t.Errorf("unknown comes back as %s", got)
	}
}

func TestUserText(t *testing.T) {
	for want, m := range map[string]chat.Message{
		"": {}, "text": {Text: "text"}, "note": {Note: "note"}, "note\n\ntext": {Note: "note", Text: "text"},
	} {
		if got := model.UserText(m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

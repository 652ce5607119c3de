package model_test

import (
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// TestSilence: a person reads why there is no answer, in the language of the question.
func TestSilence(t *testing.T) {
	for _, why := range []model.Stop{model.Done, model.ToolCalls, model.Length, model.Refused} {
		if english, chinese := model.Silence(why, false), model.Silence(why, true); chat.Chinese(english) || !chat.Chinese(chinese) {
			t.Errorf("%s: %q and %q", why, english, chinese)
		}
	}
}

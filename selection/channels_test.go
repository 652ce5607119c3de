package selection_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
)

// What has channels does not exist on others: it is not ranked, found, described or
// admitted, whatever the mode and whoever asks.
func TestOtherChannels(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]selection.Config{
		"direct": {}, "preselect": {Direct: -1, Limit: 3}, "recommended": {Direct: -1, Recommend: selection.Recommend{On: true}}, "pinned": {Direct: -1, Pinned: []string{"slack_poll"}},
	} {
		s := selection.New(channels(t).Catalog(), config)
		req := selection.Request{Query: "talk to each other in a poll with buttons", Facts: on("telegram"), Preferred: []string{"slack_poll", "skill:huddles"}}
		sel := s.Select(req)
		for _, e := range slices.Concat(sel.Declared, sel.Deferred, sel.Announced, sel.Named) {
			if !e.On("telegram") {
				t.Errorf("%s: %s is sent", name, e.Definition.Name)
			}
		}
		for _, tool := range []string{"slack_poll", "start_huddle"} {
			if _, stage := s.Admit(req, tool); stage != selection.Visibility {
				t.Errorf("%s: a call of %s gets to %v", name, tool, stage)
			}
		}
		if _, stage := s.Admit(req, "telegram_poll"); stage != selection.Sent {
			t.Errorf("%s: a call of telegram_poll ends at %v", name, stage)
		}
		for _, v := range sel.Explain().Tools {
			if v.Tool == "slack_poll" && (v.Stage != selection.Visibility || v.Reason != "exists only on slack") {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if _, ok := s.AdmitSkill(req, "huddles"); ok {
			t.Errorf("%s: the skill can be taken up", name)
		}
		for _, v := range sel.Skills() {
			if v.Skill == "huddles" && (v.Told || v.Reason != "exists only on slack") {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if !s.HidesSkill(req.Facts, "", "huddles") || s.HidesSkill(on("slack"), "", "huddles") {
			t.Errorf("%s: the skill is hidden on the wrong channel", name)
		}
		for _, m := range s.Search(req, 10) {
			if !m.On("telegram") {
				t.Errorf("%s: %s is found", name, m.Definition.Name)
			}
		}
		active := req
		active.Facts.Skill = "huddles"
		for _, e := range s.Select(active).Declared {
			if !selection.Meta(e.Definition.Name) {
				t.Errorf("%s: a skill of another channel is active and shows %s", name, e.Definition.Name)
			}
		}
		nowhere := selection.Request{Query: "poll", Facts: chat.Facts{}}
		if _, stage := s.Admit(nowhere, "slack_poll"); stage != selection.Visibility {
			t.Errorf("%s: without a channel a call gets to %v", name, stage)
		}
	}
}

// The one who has started a sub-agent must be on the channel, too.
func TestOtherChannelsOfBounds(t *testing.T) {
	t.Parallel()
	s := selection.New(channels(t).Catalog(), selection.Config{})
	req := selection.Request{Query: "poll", Facts: on("slack"), Bounds: []selection.Bound{{Facts: on("web")}}}
	if _, stage := s.Admit(req, "slack_poll"); stage != selection.Visibility {
		t.Errorf("a call gets to %v", stage)
	}
}

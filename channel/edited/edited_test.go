package edited_test

import (
	"testing"

	"github.com/etui-run/etui/channel/edited"
)

// TestEdit: an edit changes its own part of what was handed over, however often.
func TestEdit(t *testing.T) {
	t.Parallel()
	type edit struct{ key, text string }
	for name, c := range map[string]struct {
		parts        []edited.Part
		before, rest string
		edits        []edit
		want         string
	}{
		"one":            {[]edited.Part{{"a", "tow"}}, "", "", []edit{{"a", "two"}}, "two"},
		"with the rest":  {[]edited.Part{{"a", "tow"}}, "> said\n\n", "\n[File]", []edit{{"a", "two"}}, "> said\n\ntwo\n[File]"},
		"of a row":       {[]edited.Part{{"a", "1"}, {"b", ""}, {"c", "3"}}, "", "", []edit{{"b", "2"}, {"c", "three"}}, "1\n2\nthree"},
		"taken away":     {[]edited.Part{{"a", "1"}, {"b", "2"}}, "", "x", []edit{{"a", ""}, {"b", "two"}}, "twox"},
		"a caption":      {[]edited.Part{{"a", ""}}, "> said\n\n", "[File]", []edit{{"a", "read"}}, "> said\n\nread\n\n[File]"},
		"the same words": {[]edited.Part{{"a", "x"}, {"b", "x"}}, "x", "x", []edit{{"b", "y"}}, "xx\nyx"},
	} {
		m := edited.New()
		m.Keep("ann", "a", len(c.before), c.parts)
		text := c.before + edited.Join(c.parts) + c.rest
		for _, e := range c.edits {
			now, ok := m.Edit(e.key, "ann", e.text)
			if !ok || now.ID != "a" {
				t.Fatalf("%s: no edit of %s", name, e.key)
			}
			text = now.Of(text)
			now.Done()
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		if _, ok := m.Edit("a", "bob", "x"); ok {
			t.Errorf("%s: somebody else edits it", name)
		}
		if now, _ := m.Edit("a", "ann", "newest"); now.Of("something else") != "newest" {
			t.Errorf("%s: a text that is not as it was kept", name)
		}
	}
}

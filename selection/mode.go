package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mode is how a selection reaches the model. What is selected is the same in
// each; they differ in what stands in front of the request, where a provider's
// prompt cache begins.
type Mode string

// The modes. The empty Mode is Auto.
const (
	// Auto takes one of the others, see [Modes].
	Auto Mode = "auto"
	// Direct declares every tool that the caller may use.
	Direct Mode = "direct"
	// Preselect declares the best tools for the first question. What later ones
	// need is announced with their messages, or declared behind the others where
	// that breaks no cache.
	Preselect Mode = "preselect"
	// Bridge declares the pinned tools and those for searching and calling, the
	// same for every question; what a question needs is announced with it.
	Bridge Mode = "bridge"
	// Native is Preselect with the provider's own deferral: all other tools are
	// sent, too, but the model reads only those that it finds with find_tools.
	Native Mode = "native"
)

// Modes lists the modes. Auto takes direct where the tools are few, native where
// the model's provider can defer tools, else preselect.
func Modes() []Mode { return []Mode{Auto, Direct, Preselect, Bridge, Native} }

// ParseMode reads a mode's name; the empty name is the empty Mode.
func ParseMode(name string) (Mode, error) {
	if name == "" || slices.Contains(Modes(), Mode(name)) {
		return Mode(name), nil
	}
	list := make([]string, len(Modes()))
	for i, m := range Modes() {
		list[i] = string(m)
	}
	return "", fmt.Errorf("unknown mode %q: it is one of %s", name, strings.Join(list, ", "))
}

// Asked returns the mode that is in force for a request that asks for one, or for
// none when it is empty.
func (c Config) Asked(mode Mode) Mode {
	if c.Off {
		return Direct
	}
	return cmp.Or(mode, c.Mode, Auto)
}

// maxDeferred is how many tools are sent for a provider to defer. With more, the
// requests would be large for what they hardly use, and providers have limits.
const maxDeferred = 1000

// chooseMode decides the mode, and whether the session's front is made anew.
func (sel *Selection) chooseMode() {
	req, config := &sel.Request, &sel.selector.config
	asked := config.Asked(req.Mode)
	switch {
	case config.Off:
		sel.Mode, sel.Why = Direct, "the selection is switched off"
	case asked == Auto && sel.lasts():
		sel.Mode, sel.Why = req.Began, "the session began with it"
	case asked == Auto:
		sel.Mode, sel.Why = sel.auto()
	case asked == Native && !req.Native:
		sel.Mode, sel.Why = Preselect, "native is asked for, but the model's provider cannot defer tools"
	case asked == Native && sel.usable > maxDeferred:
		sel.Mode, sel.Why = Preselect, fmt.Sprintf("native is asked for, but there are more than %d tools", maxDeferred)
	default:
		sel.Mode, sel.Why = asked, "asked for"
	}
	sel.anew = req.Began != sel.Mode || req.Cold
}

// lasts reports whether auto stays with the mode that the session began with.
// Where tools have come since and are too many for it now, the front changes in
// any case.
func (sel *Selection) lasts() bool {
	req := &sel.Request
	switch {
	case req.Began == "" || req.Cold:
		return false
	case req.Began == Direct:
		return sel.few()
	case req.Began == Native:
		return sel.usable <= maxDeferred
	}
	return true
}

// few reports whether auto sends all tools.
func (sel *Selection) few() bool {
	return sel.usable <= sel.selector.config.Direct && sel.usableTokens <= sel.budget
}

// auto takes a mode for a new front.
//
// Bridge is never taken by itself. Its front is the same for every question, so
// that new conversations find it in the cache; but it is short, and what it
// saves there is less than what it costs to call the first question's tools
// through call_tool, which models do less well and providers do not check.
func (sel *Selection) auto() (Mode, string) {
	req := &sel.Request
	switch {
	case sel.few():
		return Direct, "few enough to send all"
	case req.Native && sel.usable <= maxDeferred:
		return Native, "the model's provider can defer tools"
	}
	return Preselect, "more tools than are sent without choosing"
}

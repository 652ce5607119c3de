package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mode is how a selection reaches the model. All modes select the same tools; they
// differ in what comes at the front of the request, where a provider's prompt
// cache begins.
type Mode string

// The modes. The empty Mode is Auto.
const (
	// Auto chooses one of the others, see [Modes].
	Auto Mode = "auto"
	// Direct declares every tool that the caller may use.
	Direct Mode = "direct"
	// Preselect declares the best tools for the first question. Tools for later
	// questions are announced with the message, or declared after the others where
	// that breaks no cache.
	Preselect Mode = "preselect"
	// Bridge declares the pinned tools and the tools for searching and calling, the
	// same for every question. The tools for a question are announced with it.
	Bridge Mode = "bridge"
	// Native is Preselect with the provider's own deferral: all other tools are sent
	// too, but the model reads only the tools that it finds with find_tools.
	Native Mode = "native"
)

// Modes lists the modes. Auto chooses direct when there are few tools, otherwise
// native when the model's provider can defer tools, and preselect when it cannot.
func Modes() []Mode { return []Mode{Auto, Direct, Preselect, Bridge, Native} }

// ParseMode parses a mode's name; the empty name is the empty Mode.
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

// ModeFor returns the mode in effect for a request that asks for the given one; empty
// means that it asks for none.
func (c Config) ModeFor(mode Mode) Mode {
	if c.Off {
		return Direct
	}
	return cmp.Or(mode, c.Mode, Auto)
}

// maxDeferred is how many tools a provider may defer. More would make requests
// large for tools that are hardly used, and providers have limits.
const maxDeferred = 1000

// chooseMode chooses the mode and decides whether the session's front is made anew.
func (sel *Selection) chooseMode() {
	req, config := &sel.Request, &sel.selector.config
	asked := config.ModeFor(req.Mode)
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

// lasts reports whether auto keeps the mode that the session began with. It does
// not when there are now too many tools for that mode: then the front changes in
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

// auto chooses the mode of a new front.
//
// It never chooses Bridge. Bridge's front is the same for every question, so that
// new conversations find it in the cache. But it is short, and it saves less than
// it costs to call the first question's tools through call_tool, which models do
// less well and providers do not check.
func (sel *Selection) auto() (Mode, string) {
	req := &sel.Request
	switch {
	case sel.few() && (req.Phase == "" || req.Uncached):
		return Direct, "few enough to send all"
	case req.Native && sel.usable <= maxDeferred:
		return Native, "the model's provider can defer tools"
	}
	return Preselect, "more tools than are sent without choosing"
}

package selection

import (
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
)

// deliver decides how the sent tools reach the model. A provider's prompt cache
// ends at the first byte that changes, and tools come at the very front. So a
// session keeps its declared tools, and tools for later questions are announced
// with the message, at the end, unless declaring them costs nothing.
func (sel *Selection) deliver() {
	sent, front := sel.sent(), front{sel}
	sel.fresh = sel.anew
	if !sel.anew {
		stages := sel.stages
		if sel.Request.Uncached {
			stages = slices.Clone(stages)
		}
		front.keep()
		if sel.Request.Uncached && front.overgrown(sent) {
			sel.fresh, sel.stages = true, stages // what was kept is not sent after all
		}
	}
	if sel.fresh {
		front.make(sent)
	}
	if use, _ := metaEntry(UseSkill); sel.Mode == Direct && !sel.selector.config.Off && sel.hasSkills() &&
		!slices.Contains(sel.Declared, use) {
		sel.Declared = append(sel.Declared,
			use) // the first skill came after the session began, and there is no call_tool
	}
	if finish, _ := metaEntry(FinishPhase); sel.Request.Phase != "" && !slices.Contains(sel.Declared, finish) {
		sel.Declared = append(sel.Declared, finish) // the workflow began in a session that was there
	}
	announced := front.announced()
	for _, e := range sent {
		switch {
		case slices.Contains(sel.Declared, e):
		case sel.Mode == Direct || sel.Request.Uncached && sel.Mode == Preselect:
			sel.Declared = append(sel.Declared, e)
		case !slices.Contains(sel.Request.Announced, e.Definition.Name):
			announced += e.Tokens
			front.announce(e, announced)
		}
	}
	if sel.Mode == Native {
		front.postpone()
	}
}

// front is the part of a request that the tools of a selection take, while it is made.
type front struct{ sel *Selection }

// The announcements of a session stay in it and are paid for with every later request. So
// only a question's best tool is described, and the others are named: a model that needs one
// of them calls it, and is shown the parameters if it guessed them wrong, or describes it to
// itself with find_tools. A phase of a workflow is worked in for several questions, so all
// its tools are described. After maxAnnounced times the budget of a question, counted in
// whole definitions, only the best maxNamed tools of a question are named.
const maxAnnounced, maxNamed = 3, 3

// announced is how many tokens the tools have that the session's messages announced.
func (f front) announced() (tokens int) {
	for _, name := range f.sel.Request.Announced {
		if e, ok := f.sel.selector.catalog.Get(name); ok {
			tokens += e.Tokens
		}
	}
	return tokens
}

// announce announces a tool with the message, after which the session has announced so
// many tokens.
func (f front) announce(e *catalog.Entry, tokens int) {
	enough := tokens > maxAnnounced*f.sel.budget
	switch {
	case enough && len(f.sel.Named) >= maxNamed:
		f.sel.stages[e.Position()] = Budget
		f.sel.unnamed = append(f.sel.unnamed, e)
	case !enough && (len(f.sel.Announced) == 0 || f.sel.Request.Phase != ""):
		f.sel.Announced = append(f.sel.Announced, e)
	default:
		f.sel.Named = append(f.sel.Named, e)
	}
}

// keep takes the session's front as it is, in its order. A tool that the caller may
// no longer use leaves at once, whatever that costs.
func (f front) keep() {
	for _, name := range f.sel.Request.Declared {
		if meta, ok := metaEntry(name); ok {
			f.sel.Declared = append(f.sel.Declared, meta)
		} else {
			f.declare(name)
		}
	}
}

// declare adds a tool to the front, if it may be used.
func (f front) declare(name string) {
	e, ok := f.sel.selector.catalog.Get(name)
	if !ok || slices.Contains(f.sel.Declared, e) {
		return
	}
	switch {
	case f.sel.stages[e.Position()].Usable():
		f.sel.stages[e.Position()] = Sent
		f.sel.Declared = append(f.sel.Declared, e)
	case f.sel.holds(e):
		f.sel.Declared = append(f.sel.Declared, e) // shown, and refused when it is called
	}
}

// make makes a new front. First come tools that do not depend on the question,
// so that sessions share them, then tools that were called in messages that are
// still sent, then the tools for the question.
func (f front) make(sent []*catalog.Entry) {
	f.sel.Declared = append(make([]*catalog.Entry, 0, len(metaTools)+len(sent)), f.metaTools()...)
	for _, e := range sent {
		if f.sel.Mode == Direct || f.sel.selector.pinned.has(e.Position()) {
			f.sel.Declared = append(f.sel.Declared, e)
		}
	}
	if f.sel.Mode == Bridge {
		return
	}
	for _, name := range f.sel.Request.Called {
		f.declare(name)
	}
	for _, e := range sent {
		if !slices.Contains(f.sel.Declared, e) {
			f.sel.Declared = append(f.sel.Declared, e)
		}
	}
}

// overgrown reports whether a front to which sent is added would have more than
// twice the budget. Without a prompt cache it can be made anew at any time.
func (f front) overgrown(sent []*catalog.Entry) bool {
	tokens := 0
	for _, e := range f.sel.Declared {
		if !Meta(e.Definition.Name) {
			tokens += e.Tokens
		}
	}
	for _, e := range sent {
		if !slices.Contains(f.sel.Declared, e) {
			tokens += e.Tokens
		}
	}
	return f.sel.Mode != Direct && tokens > 2*f.sel.budget
}

// postpone lists the tools that the provider defers. They are not cached, so they
// may change from question to question; sorted, they seldom do.
func (f front) postpone() {
	f.sel.Deferred = slices.DeleteFunc(f.sel.Usable(),
		func(e *catalog.Entry) bool { return slices.Contains(f.sel.Declared, e) })
}

// sent returns the tools that are sent for this question: pinned tools by name,
// then the others by rank; in the mode direct all by name. The order in which
// tools were registered does not matter.
func (sel *Selection) sent() []*catalog.Entry {
	sent := make([]*catalog.Entry, 0, 2*sel.limit)
	for i, stage := range sel.stages {
		if stage == Sent && (sel.Mode == Direct || sel.selector.pinned.has(i)) {
			sent = append(sent, sel.selector.catalog.At(i))
		}
	}
	slices.SortFunc(sent, compareNames)
	if sel.Mode == Direct {
		return sent
	}
	for _, m := range sel.Ranked {
		if !sel.selector.pinned.has(m.Position()) {
			sent = append(sent, m.Entry)
		}
	}
	return sent
}

func compareNames(a, b *catalog.Entry) int {
	return strings.Compare(a.Definition.Name, b.Definition.Name)
}

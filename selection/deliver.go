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
	sent := sel.sent()
	sel.fresh = sel.anew
	if !sel.anew {
		stages := sel.stages
		if sel.Request.Uncached {
			stages = slices.Clone(stages)
		}
		sel.keep()
		if sel.Request.Uncached && sel.overgrown(sent) {
			sel.fresh, sel.stages = true, stages // what was kept is not sent after all
		}
	}
	if sel.fresh {
		sel.newFront(sent)
	}
	if use, _ := metaEntry(UseSkill); sel.Mode == Direct && !sel.selector.config.Off && sel.hasSkills() && !slices.Contains(sel.Declared, use) {
		sel.Declared = append(sel.Declared, use) // the first skill came after the session began, and there is no call_tool
	}
	if finish, _ := metaEntry(FinishPhase); sel.Request.Phase != "" && !slices.Contains(sel.Declared, finish) {
		sel.Declared = append(sel.Declared, finish) // the workflow began in a session that was there
	}
	announced := sel.announced()
	for _, e := range sent {
		switch {
		case slices.Contains(sel.Declared, e):
		case sel.Mode == Direct || sel.Request.Uncached && sel.Mode == Preselect:
			sel.Declared = append(sel.Declared, e)
		case !slices.Contains(sel.Request.Announced, e.Definition.Name):
			announced += e.Tokens
			sel.announce(e, announced)
		}
	}
	if sel.Mode == Native {
		sel.postpone()
	}
}

// The announcements of a session stay in it and are paid for with every later request. So
// only a question's best tool is described, and the others are named: a model that needs one
// of them calls it, and is shown the parameters if it guessed them wrong, or describes it to
// itself with find_tools. A phase of a workflow is worked in for several questions, so all
// its tools are described. After maxAnnounced times the budget of a question, counted in
// whole definitions, only the best maxNamed tools of a question are named.
const maxAnnounced, maxNamed = 3, 3

// announced is how many tokens the tools have that the session's messages announced.
func (sel *Selection) announced() (tokens int) {
	for _, name := range sel.Request.Announced {
		if e, ok := sel.selector.catalog.Get(name); ok {
			tokens += e.Tokens
		}
	}
	return tokens
}

// announce announces a tool with the message, after which the session has announced so
// many tokens.
func (sel *Selection) announce(e *catalog.Entry, tokens int) {
	enough := tokens > maxAnnounced*sel.budget
	switch {
	case enough && len(sel.Named) >= maxNamed:
		sel.stages[e.Position()] = Budget
		sel.unnamed = append(sel.unnamed, e)
	case !enough && (len(sel.Announced) == 0 || sel.Request.Phase != ""):
		sel.Announced = append(sel.Announced, e)
	default:
		sel.Named = append(sel.Named, e)
	}
}

// keep takes the session's front as it is, in its order. A tool that the caller may
// no longer use leaves at once, whatever that costs.
func (sel *Selection) keep() {
	for _, name := range sel.Request.Declared {
		if meta, ok := metaEntry(name); ok {
			sel.Declared = append(sel.Declared, meta)
		} else {
			sel.declare(name)
		}
	}
}

// declare adds a tool to the front, if it may be used.
func (sel *Selection) declare(name string) {
	e, ok := sel.selector.catalog.Get(name)
	if !ok || slices.Contains(sel.Declared, e) {
		return
	}
	switch {
	case sel.stages[e.Position()].Usable():
		sel.stages[e.Position()] = Sent
		sel.Declared = append(sel.Declared, e)
	case sel.holds(e):
		sel.Declared = append(sel.Declared, e) // shown, and refused when it is called
	}
}

// newFront makes a new front. First come tools that do not depend on the question,
// so that sessions share them, then tools that were called in messages that are
// still sent, then the tools for the question.
func (sel *Selection) newFront(sent []*catalog.Entry) {
	sel.Declared = append(make([]*catalog.Entry, 0, len(metaTools)+len(sent)), sel.metaTools()...)
	for _, e := range sent {
		if sel.Mode == Direct || sel.selector.pinned.has(e.Position()) {
			sel.Declared = append(sel.Declared, e)
		}
	}
	if sel.Mode == Bridge {
		return
	}
	for _, name := range sel.Request.Called {
		sel.declare(name)
	}
	for _, e := range sent {
		if !slices.Contains(sel.Declared, e) {
			sel.Declared = append(sel.Declared, e)
		}
	}
}

// overgrown reports whether a front to which sent is added would have more than
// twice the budget. Without a prompt cache it can be made anew at any time.
func (sel *Selection) overgrown(sent []*catalog.Entry) bool {
	tokens := 0
	for _, e := range sel.Declared {
		if !Meta(e.Definition.Name) {
			tokens += e.Tokens
		}
	}
	for _, e := range sent {
		if !slices.Contains(sel.Declared, e) {
			tokens += e.Tokens
		}
	}
	return sel.Mode != Direct && tokens > 2*sel.budget
}

// postpone lists the tools that the provider defers. They are not cached, so they
// may change from question to question; sorted, they seldom do.
func (sel *Selection) postpone() {
	sel.Deferred = slices.DeleteFunc(sel.Usable(), func(e *catalog.Entry) bool { return slices.Contains(sel.Declared, e) })
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

package selection

import "github.com/etui-run/etui/chat"

// Request is everything that a selection may depend on, besides the catalog.
type Request struct {
	// Facts are about the caller. Facts.Skill is the active skill; empty means
	// [catalog.Full], and a skill that does not exist lets nothing through.
	Facts chat.Facts
	// Query is the question, in the user's words.
	Query string
	// History is the conversation before it, oldest first: "and in Berlin?"
	// continues what was asked before.
	History []chat.Message
	// Groups are the groups whose tools the agent has, as in "file,shell"; empty
	// means all.
	Groups string
	// Include names the only tools that are let through, unless it is empty.
	// Exclude names tools that are not.
	Include, Exclude []string
	// Bounds are further callers, each of whom must be able to use a tool or skill, too.
	Bounds []Bound
	// Limit and Budget override the values of the [Config] when above zero.
	Limit, Budget int
	// Window is how many tokens the model reads at once; 0 means unknown. It bounds
	// the budget, see [Config].
	Window int
	// Mode overrides the mode of the [Config] unless it is empty.
	Mode Mode
	// Native is set when the model's provider can defer tools, see [Native].
	Native bool
	// Uncached is set when the model has no prompt cache: tools may be declared at
	// any time.
	Uncached bool

	// Began is the [Selection.Mode] of the session's previous question. Empty means
	// a new session.
	Began Mode
	// Declared names the tools at the front of the session's requests, in order.
	Declared []string
	// Announced names the tools that the session's later messages described, as far
	// as those messages are still sent.
	Announced []string
	// IncludeSkills names the only skills that the model may know of, unless it is
	// empty. ExcludeSkills names skills that it may not know of.
	IncludeSkills, ExcludeSkills []string
	// SkillList is the [Selection.SkillList] of the session's previous question.
	SkillList string
	// Used are the calls that were made earlier in the session, in any order, for
	// the recommender.
	Used []Use
	// Vector is the question's meaning, for a selector with vectors; nil means that
	// only words count.
	Vector []float32
	// Preferred names tools, and skills as "skill:" and a name, that the recommender
	// puts first, best first, if they may be used. Advice is the reason for them, or
	// for their absence; it only appears in the explanation.
	Preferred []string
	Advice    string
	// Cold is set when the provider's cache no longer holds the session, so that
	// making its front anew costs nothing.
	Cold bool
	// Phase is set while a workflow runs in the session, to its name, a slash and that of the
	// phase: the model can end the phase, and the toolset will change, so that Auto prefers a
	// mode in which tools can be announced.
	Phase string
	// Held keeps declared tools and the directory although the active toolset leaves some
	// of their tools out. Calls of these are refused all the same.
	Held bool
	// Called names the tools that were called in the part of the session that is
	// still sent, in order. They are declared when the front is made anew.
	Called []string
}

// Bound is a caller in whose name another one acts. Its fields are as in [Request].
type Bound struct {
	Facts                        chat.Facts
	Groups                       string
	Include, Exclude             []string
	IncludeSkills, ExcludeSkills []string
	// Past says that the facts are those of an earlier time, at which somebody asked for
	// what is done now. They do not follow what changes.
	Past bool
}

func (b Bound) request() Request {
	return Request{Facts: b.Facts, Groups: b.Groups, Include: b.Include, Exclude: b.Exclude,
		IncludeSkills: b.IncludeSkills, ExcludeSkills: b.ExcludeSkills}
}

// within bounds a number of tokens by a share of the model's window.
func (r *Request) within(tokens int, share float64) int {
	if r.Window > 0 {
		return min(tokens, int(float64(r.Window)*share))
	}
	return tokens
}

package selection

import "github.com/etui-run/etui/chat"

// Request is what a selection may know.
type Request struct {
	// Facts are about the caller. Facts.Skill is the active toolset; empty means
	// [catalog.Full], and one that does not exist lets nothing through.
	Facts chat.Facts
	// Query is the question, in the user's words.
	Query string
	// History is the conversation before it, oldest first: "and in Berlin?" asks
	// for what was asked for before.
	History []chat.Message
	// Groups are those whose tools the agent has, as in "file,shell"; empty
	// means all.
	Groups string
	// Include, when not empty, names the only tools that are let through;
	// Exclude names tools that are not.
	Include, Exclude []string
	// Limit and Budget override those of the [Config] when above zero.
	Limit, Budget int
	// Window is how many tokens the model reads at once; 0 means unknown. It
	// bounds the budget, see [Config].
	Window int
	// Mode overrides that of the [Config] when not empty.
	Mode Mode
	// Native says that the model's provider can defer tools, see [Native].
	Native bool
	// Uncached says that the model has no prompt cache: tools may be declared at
	// any time.
	Uncached bool

	// Began is the mode of the session so far, as [Selection.Mode] told it for the
	// question before. Empty means a new session.
	Began Mode
	// Declared names the tools that stand in front of the session's requests, in
	// order.
	Declared []string
	// Announced names the tools that later messages of the session described, as
	// far as those are still sent.
	Announced []string
	// IncludeSkills, when not empty, names the only skills that the model is told
	// of; ExcludeSkills names skills that it is not.
	IncludeSkills, ExcludeSkills []string
	// SkillList is what the session's system prompt says of skills, as
	// [Selection.SkillList] told it for the question before.
	SkillList string
	// Used are the calls that were made earlier in the session, in any order. The
	// recommender reads them.
	Used []Use
	// Vector is the question's meaning, for a selector with vectors; nil means that
	// words alone count.
	Vector []float32
	// Preferred names tools, and as "skill:" and a name skills, that the
	// recommender puts first, best first, where they may be used. Advice says who
	// preferred them, or why nobody did; it only stands in the explanation.
	Preferred []string
	Advice    string
	// Cold says that the provider's cache holds nothing of the session any more,
	// so that its front may be made anew at no cost.
	Cold bool
	// Called names the tools that were called in the part of the session that is
	// still sent, in order. They are declared when the front is made anew.
	Called []string
}

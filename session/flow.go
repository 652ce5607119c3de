package session

import (
	"encoding/json"
	"maps"
	"slices"
)

// Flow is a run of a workflow in a session: the phase that it is in, and the evidence on
// which the host ends that phase. Package workflow reads and changes it.
type Flow struct {
	// Workflow and Phase name where the run is. Outcome is empty while it runs, and how it
	// ended afterwards; Reason says why.
	Workflow string `json:"workflow"`
	Phase    string `json:"phase"`
	Outcome  string `json:"outcome,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Input, Target and Params are what the run began with.
	Input  string            `json:"input,omitempty"`
	Target string            `json:"target,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	// Skill is the toolset that a person has chosen for all phases; empty means that each
	// phase has its own. Before is the skill that was active before the run, and becomes
	// so again.
	Skill  string `json:"skill,omitempty"`
	Before string `json:"before,omitempty"`
	// Leave is the phase that comes next, once a call of finish_phase was believed.
	Leave string `json:"leave,omitempty"`
	// Why says what led to the phase; empty in the first one.
	Why string `json:"why,omitempty"`
	// Round, Calls, Failures and Tokens count in this visit of the phase: answers of the
	// model, calls of tools, those that failed, and what the provider counted.
	Round    int `json:"round,omitempty"`
	Calls    int `json:"calls,omitempty"`
	Failures int `json:"failures,omitempty"`
	Tokens   int `json:"tokens,omitempty"`
	// Broken counts the rounds of this visit in which a condition could not be judged.
	Broken int `json:"broken,omitempty"`
	// Rounds and AllTokens count in the run; Cost is what its tokens cost, except for those
	// of models without a known price, which Unpriced counts.
	Rounds    int     `json:"rounds,omitempty"`
	AllTokens int     `json:"all_tokens,omitempty"`
	Unpriced  int     `json:"unpriced,omitempty"`
	Cost      float64 `json:"cost,omitempty"`
	// Visits counts how often each phase began.
	Visits map[string]int `json:"visits,omitempty"`
	// Reply is the newest answer of the model in this visit that made no calls, and Files
	// the names of the files that results gave.
	Reply string   `json:"reply,omitempty"`
	Files []string `json:"files,omitempty"`
	// Results are the newest results of this visit by tool, and Earlier those of the visits
	// before it.
	Results map[string]Evidence `json:"results,omitempty"`
	Earlier map[string]Evidence `json:"earlier,omitempty"`
	// Path is how the run came here: the newest switches, oldest first.
	Path []Switch `json:"path,omitempty"`
}

// Evidence is what is kept of a tool's newest result.
type Evidence struct {
	// Count is how many results the visit has of the tool, and Failures how many of them
	// failed. Failed is of the newest one, like the rest.
	Count    int  `json:"count"`
	Failures int  `json:"failures,omitempty"`
	Failed   bool `json:"failed,omitempty"`
	// Text is its beginning, and Data its data as JSON; without it when there is none, or too
	// much.
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Switch is a change of the phase.
type Switch struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	Why  string `json:"why,omitempty"`
	// Delivery says how the tools of the phase reached the model: declared anew, or
	// announced.
	Delivery string `json:"delivery,omitempty"`
	// Tools are how many tools the phase may use, ToolTokens what the definitions that were
	// sent cost, and FullTokens what all tools would cost.
	Tools      int `json:"tools,omitempty"`
	ToolTokens int `json:"tool_tokens,omitempty"`
	FullTokens int `json:"full_tokens,omitempty"`
	// Lost is what the switch cost in the provider's prompt cache, in input tokens at full
	// price.
	Lost float64 `json:"lost,omitempty"`
}

// MaxPath is how many switches a run keeps; older ones are dropped.
const MaxPath = 50

// Add adds a switch to the path.
func (f *Flow) Add(s Switch) {
	f.Path = append(f.Path, s)
	f.Path = f.Path[max(0, len(f.Path)-MaxPath):]
}

// Runs reports whether a workflow is running.
func (f *Flow) Runs() bool { return f != nil && f.Outcome == "" }

// Place is the workflow that runs, a slash and its phase; empty when none runs.
func (f *Flow) Place() string {
	if !f.Runs() {
		return ""
	}
	return f.Workflow + "/" + f.Phase
}

// Brief returns a copy without the evidence, for those who only want to know where the run
// is.
func (f *Flow) Brief() *Flow {
	if f == nil {
		return nil
	}
	c := f.Clone()
	c.Results, c.Earlier, c.Files = nil, nil, nil
	return c
}

// Clone returns a copy that shares nothing with f that changes.
func (f *Flow) Clone() *Flow {
	if f == nil {
		return nil
	}
	c := *f
	c.Visits, c.Results, c.Earlier = maps.Clone(f.Visits), maps.Clone(f.Results), maps.Clone(f.Earlier)
	c.Files, c.Path = slices.Clone(f.Files), slices.Clone(f.Path)
	return &c
}

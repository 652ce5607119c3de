package selection

import "github.com/etui-run/etui/rank"

// Config says how much a selection may send. The zero value has sensible
// limits.
type Config struct {
	// Mode is how what is selected reaches the model; empty means Auto.
	Mode Mode
	// Off switches the selection off, whatever the mode and the request say: every
	// tool that the caller may use is declared.
	Off bool
	// Directory is how many tokens the directory of names may have, see
	// [Selection.Directory]; 0 means 400, and a negative number that there is none.
	Directory int
	// Skills is how many tokens the list of skills may have, see [ListSkills]; 0
	// means 1500. It has at most 5 % of the model's window.
	Skills int
	// Limit is how many tools are sent for a question, pinned ones not counted;
	// 0 means 8.
	Limit int
	// Budget is how many tokens their definitions may have together; 0 means
	// 3000.
	Budget int
	// WindowShare is the part of the model's window that they may take, as a
	// fraction; 0 means 0.1.
	WindowShare float64
	// Direct is up to how many tools Auto sends without choosing, if they fit the
	// budget; 0 means 12, and a negative number that it is never done.
	Direct int
	// Pinned are tools that are sent always, by name or as "group:" and a group.
	Pinned []string
	// Disabled are tools that nobody may use, by name or as "group:" and a group.
	Disabled []string
	// Weights are those of the ranking; the zero value is [rank.DefaultWeights].
	Weights rank.Weights
	// Recommend orders the candidates by more than their words; the zero value
	// does not.
	Recommend Recommend
}

func (c Config) withDefaults() Config {
	if c.Limit == 0 {
		c.Limit = 8
	}
	if c.Budget == 0 {
		c.Budget = 3000
	}
	if c.WindowShare == 0 {
		c.WindowShare = 0.1
	}
	if c.Direct == 0 {
		c.Direct = 12
	}
	if c.Directory == 0 {
		c.Directory = 400
	}
	if c.Skills == 0 {
		c.Skills = defaultSkillTokens
	}
	c.Recommend = c.Recommend.withDefaults()
	return c
}

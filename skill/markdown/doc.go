// Package markdown reads skills that are instructions: folders with a SKILL.md as
// the Agent Skills standard (agentskills.io) describes them.
//
// [Validate] checks a file against the standard, as strictly as its reference
// validator. [Parse] is lenient, as the standard wants clients to be: it takes what
// people and other clients write, repairs mistakes with one clear meaning, and says
// what it repaired. It refuses only files without a usable description. Both are
// pure functions.
//
// [Machine.Load] makes a skill of a folder. Executing the skill returns its
// instructions, as they were when it was loaded, or another file of its folder. It
// runs nothing and reads nothing outside its folder.
package markdown

// The bounds of a SKILL.md. A file that exceeds one of the first three is refused;
// of the others the beginning is used, with a warning. How much a model reads is
// decided elsewhere.
const (
	maxFile     = 1 << 20  // bytes of a SKILL.md
	maxFront    = 64 << 10 // bytes of its frontmatter
	maxDepth    = 32       // levels of nesting in it
	maxText     = 4096     // code points of a description
	maxList     = 64       // items of a list, such as allowed-tools
	maxItem     = 256      // bytes of one of them; a longer one is left out
	maxWarnings = 32       // of one file; further ones are dropped
)

// longBody is how many bytes of instructions bring a warning.
const longBody = 64 << 10

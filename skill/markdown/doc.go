// Package markdown reads skills that are instructions: folders with a SKILL.md,
// as the Agent Skills standard (agentskills.io) describes them.
//
// [Validate] holds a file against the standard, with the verdict of its reference
// validator. [Parse] is lenient, as the standard asks of clients: it takes what
// people and other clients have written, repairs what has one clear meaning, and
// says what it repaired. It refuses only what has no usable description. Both are
// pure functions.
//
// [Machine.Load] makes a skill of a folder. The skill reads: its instructions, which are
// kept from when it was loaded, and the other files of its folder, when it is
// asked for them. It runs nothing, and it reads nothing outside its folder.
package markdown

// The bounds of what is read. What goes beyond the first three is refused, of
// the others the beginning is taken, with a warning. How much of it all models
// read is not decided here.
const (
	maxFile     = 1 << 20  // bytes of a SKILL.md
	maxFront    = 64 << 10 // bytes of its frontmatter
	maxDepth    = 32       // levels of nesting in it
	maxText     = 4096     // code points of a description
	maxList     = 64       // items of a list, such as allowed-tools
	maxItem     = 256      // bytes of one of them; a longer one is left out
	maxWarnings = 32       // of one file; nothing is told of more
)

// longBody is how many bytes of instructions are warned of.
const longBody = 64 << 10

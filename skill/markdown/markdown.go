// Package markdown reads skills of instructions.
package markdown

const (
	maxFile  = 1 << 20
	maxDepth = 32
	fence    = "---"
	bom      = "\ufeff"
	tooLong  = "the file is longer than 1 MiB"
)

// Package builtin holds the tools that etui brings: the files of the workspace,
// the time and arithmetic. [Tools] is made from the functions that say
// //etui:tool below their comments; docs/tools-in-go.md tells how.
//
// Files are reached through os.Root, so that no name, link or race leads out of
// the workspace. Only regular files are read and written, and files with a second
// name elsewhere (hard links) are not read. The configuration of the workspace can
// be read, but not changed: an agent must not be able to give itself more rights.
//
//etui:tools groups=file source=builtin version=1
package builtin

// Source is the source of the built-in tools.
const Source = "builtin"

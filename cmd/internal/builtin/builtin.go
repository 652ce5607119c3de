// Package builtin holds etui's own tools: files of the workspace, time and arithmetic.
// [Tools] is generated from the functions marked //etui:tool; see docs/tools-in-go.md.
//
// Files are accessed through os.Root, so that no name, link or race leads out of the
// workspace. Only regular files are read and written; files with a second name
// elsewhere (hard links) are not read. The workspace's configuration can be read but
// not changed, so that an agent cannot give itself more rights.
//
//etui:tools groups=file source=builtin version=1
package builtin

// Source is the source of the built-in tools.
const Source = "builtin"

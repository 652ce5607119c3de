// Package etui embeds the agent gateway in a Go program. An agent answers messages with
// tools, and each turn the model sees only the tools that this caller may use and that
// this question needs.
//
// # The tour
//
// Package chat has the words of a conversation. A tool is a function that a model can
// call; tool.Func makes one from a typed Go function. Package catalog holds what exists
// now: an immutable snapshot that any number of goroutines read while others add and
// remove. Package rank scores tools for a question, and package selection chooses what
// one turn gets, with a reason for every tool. Package rules decides who sees and calls
// what. Package prompt builds what the model reads, package model defines what a model
// is, with an adapter in each folder below it, and package turn runs one message to one
// reply: select, ask, call, repeat. Package session is the memory of a conversation.
// Package engine runs the turns of each session in order, stores every step and resumes
// what a process left open. Package server offers an engine over HTTP:
// server.Handler(gateway) is an http.Handler.
//
// Packages rank, catalog and selection know no model, network or store and can be used
// alone; see the examples of package selection.
//
// [New] connects all this. It links no adapters except those that the caller passes in.
package etui

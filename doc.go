// Package etui embeds the agent gateway in a Go program: an agent that answers
// messages with tools, and that is shown, for each message, only the tools that
// this caller may use and that this question needs.
//
// # The tour
//
// A conversation is made of the words in package chat. A tool is a function a
// model can call: package tool, where Func turns a typed Go function into one.
// What exists now is an immutable catalog that any number of goroutines read
// while others add and remove: package catalog. Package selection picks from it
// what one question gets, and can say why for each tool. Package prompt makes
// what the model reads, package model says what a model is, with an adapter in
// each folder below it, and package turn runs one message to one reply: select,
// ask, call, repeat. Package session is a conversation's memory, and package
// engine runs the turns of each session in order. To serve an agent over HTTP,
// pass server.New(agent.Engine, server.Config{}) to an http.Server.
//
// Selection and catalog know no model, no channel, no store and no network: to
// use only them, see the example of package selection.
//
// [New] wires these together for one agent. It links no adapter but those that
// are passed in.
package etui

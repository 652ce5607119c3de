// Package wrong has every mistake once.
package wrong

import "context"

//etui:tool risk=read
func noComment() error { return nil }

// twoArguments takes two.
//
//etui:tool
func twoArguments(a, b string) error { return nil }

// noError gives none.
//
//etui:tool grups=file
func noError(ctx context.Context) string { return "" }

// badRisk has a risk that does not exist.
//
//etui:tool risk=harmless
//etui:alais x
func badRisk() error { return nil }

// Tree holds itself.
type Tree struct {
	Left *Tree `json:"left"`
}

// tree reads a tree.
//
//etui:tool
func tree(Tree) error { return nil }

type bad struct {
	Done  chan int `json:"done"`
	Count int      `json:"count" default:"many"`
	Mode  string   `json:"mode" enum:"a,b" default:"c" minimum:"1"`
	lower string   `json:"lower"`
	Twice string   `json:"count"`
}

// everything takes what cannot be written.
//
//etui:tool
func everything(bad) error { return nil }

// again has the name of another one.
//
//etui:tool name=tree
func again() error { return nil }

// Other is another name.
//
//etui:tool
type Other = bad

// Groups is generated.
func Groups() {}

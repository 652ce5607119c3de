// Package wrong has every mistake once.
package wrong

import "context"

//etui:tool risk=read
func noComment() error { return nil }

// noName takes an argument that nobody can name.
//
//etui:tool
func noName(a, _ string) error { return nil }

// noError gives none.
//
//etui:tool grups=file
func noError(ctx context.Context) string { return "" }

// badRisk has a risk that does not exist.
//
//etui:tool risk=harmless replay=neverr
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
	Form  string   `json:"form,omitempy" maxlength:"3"`
	Loose string   `json:loose`
	Small uint8    `json:"small" maximum:"256"`
	Regex string   `json:"regex" pattern:"("`
	Empty []string `json:"emp ty" minItems:"2" maxItems:"1"`
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

// args has a name of the generated code.
//
//etui:tool
//etui:translate chinese 读取
//etui:alias
func args() (List, error) { return nil, nil }

// List holds lists.
type List []List

// Etui:tool
func length(any) int { return 0 }

// Groups is generated.
func Groups() {}

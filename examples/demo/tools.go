package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"

	"github.com/etui-run/etui/tool"
)

//go:embed tools/*.json world.json conversations.jsonl enriched.jsonl
var files embed.FS

// entry is the description of a tool in its file.
type entry struct {
	Name        string          `json:"name"`
	Risk        tool.Risk       `json:"risk"`
	Description string          `json:"description"`
	Chinese     string          `json:"zh"`
	Aliases     []string        `json:"aliases"`
	Examples    []string        `json:"examples"`
	Groups      []string        `json:"groups"`
	Parameters  json.RawMessage `json:"parameters"`
	// Answer tells the service how to answer; see the package comment.
	Answer string `json:"answer"`
}

// entries reads every tool, ordered by file name and then by position. It panics if an
// embedded file is broken, which is a mistake in this package.
func entries() []entry {
	names, _ := fs.Glob(files, "tools/*.json") // the pattern is valid
	all := make([]entry, 0, 400)
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		var group []entry
		if err := json.Unmarshal(data, &group); err != nil {
			panic(fmt.Sprintf("demo: reading %s: %v", name, err))
		}
		all = append(all, group...)
	}
	return all
}

// Conversations returns messages that people of the company might send to their
// assistant, with the tools that each message needs: one JSON object per line, for
// package replay.
func Conversations() io.Reader {
	data, err := files.ReadFile("conversations.jsonl")
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(data)
}

// Texts returns what a language model wrote about the demo's tools and those that etui
// brings, by name. It saw their definitions and no question.
func Texts() map[string]tool.Texts {
	data, err := files.ReadFile("enriched.jsonl")
	if err != nil {
		panic(err)
	}
	texts := map[string]tool.Texts{}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var line struct {
			Tool string
			tool.Texts
		}
		if err := d.Decode(&line); err != nil {
			panic(fmt.Sprintf("demo: reading enriched.jsonl: %v", err))
		}
		texts[line.Tool] = line.Texts
	}
	return texts
}

// Definitions returns the definitions of the demo's tools, always in the same order.
func Definitions() []tool.Definition {
	all := entries()
	defs := make([]tool.Definition, len(all))
	for i, e := range all {
		defs[i] = tool.Definition{
			Name:         e.Name,
			Description:  e.Description,
			Translations: map[string]string{"zh": e.Chinese},
			Aliases:      e.Aliases,
			Examples:     e.Examples,
			Parameters:   e.Parameters,
			Groups:       e.Groups,
			Risk:         e.Risk,
			Version:      "1",
			Source:       "demo",
		}
	}
	return defs
}

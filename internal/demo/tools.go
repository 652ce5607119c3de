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

//go:embed tools/*.json world.json conversations.jsonl
var files embed.FS

// entry is one tool as its file describes it.
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

// entries reads every tool, in the order of file names and then of the files.
// It panics when an embedded file is broken: that is a mistake in this package.
func entries() []entry {
	names, err := fs.Glob(files, "tools/*.json")
	if err != nil {
		panic(err)
	}
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

// Conversations are what people of the company might say to their assistant,
// with the tools that each message needs: a JSON object a line, for package
// replay.
func Conversations() io.Reader {
	data, err := files.ReadFile("conversations.jsonl")
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(data)
}

// Definitions describes the demo's tools, in the same order every time.
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

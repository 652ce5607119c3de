package api

import (
	"fmt"
	"net/http"

	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/server/wire"
)

// Questions are an operator's own, with the tools that should answer them.
type Questions struct {
	Questions []eval.Question `json:"questions"`
}

// Example is a question that is added to the texts by which the ranking finds a tool.
type Example struct {
	Tool    string `json:"tool"`
	Example string `json:"example"`
	// Save writes it; without it, the answer shows what would be written.
	Save bool `json:"save,omitempty"`
}

// Texts are the lines about a tool in the file of texts, before and after an example was added.
type Texts struct {
	File   string `json:"file"`
	Before string `json:"before"`
	After  string `json:"after"`
	Saved  bool   `json:"saved"`
}

// Evaluate answers with how the ranking does on [Questions]: an [eval.Own]. Nothing runs.
func (k Ranker) Evaluate(w http.ResponseWriter, r *http.Request) {
	var in Questions
	if !wire.Read(w, r, &in) {
		return
	}
	if n := len(in.Questions); n == 0 || n > eval.MaxOwn {
		wire.Refuse(w, http.StatusBadRequest, fmt.Sprintf("give 1 to %d questions", eval.MaxOwn))
		return
	}
	own, err := eval.MeasureOwn(r.Context(), k.engine.Catalog(), k.config.Selection, in.Questions)
	wire.Answer(w, own, err)
}

// AddExample adds an [Example], and answers with the [Texts].
func (k Ranker) AddExample(w http.ResponseWriter, r *http.Request) {
	var in Example
	if !wire.Read(w, r, &in) {
		return
	}
	if k.config.AddExample == nil {
		wire.Refuse(w, http.StatusNotImplemented, "this program keeps no texts about tools")
		return
	}
	if _, ok := k.engine.Catalog().Get(in.Tool); !ok {
		wire.Refuse(w, http.StatusNotFound, fmt.Sprintf("there is no tool %q", in.Tool))
		return
	}
	texts, err := k.config.AddExample(r.Context(), in)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	wire.Reply(w, http.StatusOK, texts)
}

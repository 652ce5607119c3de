package api

import (
	"net/http"

	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/server/wire"
)

// MemoryLook asks what an agent remembers in the conversation of a [Message], whose text is
// not needed.
type MemoryLook struct {
	Message
	// Query is what to look for; empty means everything.
	Query string `json:"query,omitempty"`
	// Most is how many notes or results come back; 0 means 20.
	Most int `json:"most,omitempty"`
}

// MemoryEdit replaces MEMORY.md of the owner of a [Message]'s conversation.
type MemoryEdit struct {
	Message
	// Base is the text that the edit began with, New what became of it. Lines that were
	// added meanwhile are kept.
	Base string `json:"base"`
	New  string `json:"new"`
}

// MemoryText is what MEMORY.md is after a [MemoryEdit].
type MemoryText struct {
	Memory string `json:"memory"`
}

// MemoryMatches are the results of a [MemoryLook] with a query, best first.
type MemoryMatches struct {
	Found []memory.Passage `json:"found"`
}

// Memory answers a [MemoryLook] with what is remembered, or with what of it, and of the
// conversations before, fits its query.
func (a *API) Memory(w http.ResponseWriter, r *http.Request) {
	var l MemoryLook
	m, ok := read(w, r, &l, &l.Message)
	if !ok {
		return
	}
	if l.Most < 0 || l.Most > 400 {
		wire.Refuse(w, http.StatusBadRequest, "most, the number of notes or results, must be 0 to 400")
		return
	}
	if l.Most == 0 {
		l.Most = 20
	}
	caller, err := a.engine.Agents().Caller(m)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	if l.Query == "" {
		remembered, err := a.memory.Remembered(caller, l.Most)
		wire.Answer(w, remembered, err)
		return
	}
	found, err := a.memory.Recall(r.Context(), caller, l.Query, l.Most)
	wire.Answer(w, MemoryMatches{found}, err)
}

// EditMemory answers a [MemoryEdit] with the text that is stored then, a [MemoryText].
func (a *API) EditMemory(w http.ResponseWriter, r *http.Request) {
	var e MemoryEdit
	m, ok := read(w, r, &e, &e.Message)
	if !ok {
		return
	}
	caller, err := a.engine.Agents().Caller(m)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	text, err := a.memory.EditMemory(r.Context(), caller, e.Base, e.New)
	wire.Answer(w, MemoryText{text}, err)
}

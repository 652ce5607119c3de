package selection

// Tokens counts what definitions cost in a request, as estimated by
// [chat.Tokens].
type Tokens struct {
	// Usable is what it would cost to send every tool that the caller may use.
	Usable int `json:"usable"`
	// Sent is what stands in the request, with the tools for searching.
	Sent int `json:"sent"`
	// Saved is the difference, SavedPercent its share of Usable; both are 0 when
	// nothing is saved.
	Saved        int     `json:"saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Budget is what the definitions might have cost at most.
	Budget int `json:"budget"`
}

// Tokens counts what the selection costs and saves.
func (sel *Selection) Tokens() Tokens {
	t := Tokens{Budget: sel.budget, Usable: sel.usableTokens}
	for _, e := range sel.Declared {
		t.Sent += e.Tokens
	}
	for _, e := range sel.Announced {
		t.Sent += e.Tokens
	}
	if t.Saved = t.Usable - t.Sent; t.Saved > 0 {
		t.SavedPercent = 100 * float64(t.Saved) / float64(t.Usable)
	} else {
		t.Saved = 0
	}
	return t
}

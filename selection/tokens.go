package selection

// Tokens is what definitions cost in a request, as [chat.Tokens] estimates it.
type Tokens struct {
	// Usable is the cost of sending every tool that the caller may use.
	Usable int `json:"usable"`
	// Sent is the cost of the tools in the request, including meta tools.
	Sent int `json:"sent"`
	// Saved is the difference and SavedPercent its share of Usable; both are 0 when
	// nothing is saved.
	Saved        int     `json:"saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Budget is how much the definitions were allowed to cost.
	Budget int `json:"budget"`
}

// Tokens returns what the selection costs and saves.
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

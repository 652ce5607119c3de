package tool

import "slices"

// Texts are more words for a tool than its author wrote: see Aliases and Examples of
// [Definition]. The ranking reads them; models do not.
type Texts struct {
	Aliases  []string `json:"aliases"`
	Examples []string `json:"examples"`
}

// Equal reports whether two texts are the same.
func (t Texts) Equal(o Texts) bool {
	return slices.Equal(t.Aliases, o.Aliases) && slices.Equal(t.Examples, o.Examples)
}

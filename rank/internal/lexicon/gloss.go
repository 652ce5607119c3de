//go:build !etui_nogloss

package lexicon

import _ "embed" // glossText

//go:embed gloss.txt
var glossText string

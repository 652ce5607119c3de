package channel

import "github.com/etui-run/etui/channel/markup"

// split cuts a text into messages that fit.
func split(text string, t Traits) []string {
	return markup.Split(text, markup.Limit{Max: t.MaxText, Length: t.Length, Code: t.MaxCode})
}

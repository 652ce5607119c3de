package held

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
)

// Sums returns a hash for each beginning of a history: of the messages, and of all else
// on which the state after them depends. The first one is of no message.
func Sums(m message.Message, key session.Key, summary string, history []chat.Message) [][sha256.Size]byte {
	m.Agent, m.Text, m.Files, m.History, m.IdempotencyKey = "", "", nil, nil, ""
	offered := m.Offer.Tools // as they are, because they can be many
	m.Offer = clienttool.Offer{Token: m.Offer.Token}
	h := sha256.New()
	write := func(rest any, texts ...string) { // Write never fails
		raw, _ := json.Marshal(rest) // texts, numbers and lists of them
		_, _ = h.Write(raw)
		for _, text := range texts {
			_, _ = fmt.Fprintf(h, "%d:", len(text))
			_, _ = io.WriteString(h, text)
		}
	}
	write(m, string(key), summary)
	for _, t := range offered {
		_, _ = fmt.Fprintf(h, "%d:%s%d:%s%d:%s", len(t.Name), t.Name, len(t.Description), t.Description,
			len(t.Parameters), t.Parameters)
	}
	sums := make([][sha256.Size]byte, 1, len(history)+1)
	sums[0] = sum(h)
	for _, said := range history {
		text := said.Text
		said.Text = "" // as it is, because it is long
		said.Files = chat.WithoutData(said.Files)
		write(said, text)
		sums = append(sums, sum(h))
	}
	return sums
}

func sum(h hash.Hash) (s [sha256.Size]byte) {
	h.Sum(s[:0])
	return s
}

package responses

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/turn"
)

// encrypted is what a client includes that keeps the reasoning with its conversation.
const encrypted = "reasoning.encrypted_content"

// reasoningItem is what the provider of a model wants back with its calls, for a client that keeps the
// conversation.
type reasoningItem struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	Summary   []struct{} `json:"summary"`
	Encrypted string     `json:"encrypted_content"`
}

// reasoning is the content of an item, see [chat.Message.State].
type reasoning struct {
	State   json.RawMessage            `json:"state,omitempty"`
	StateOf string                     `json:"state_of"`
	Calls   map[string]json.RawMessage `json:"calls,omitempty"` // the states of calls, by their IDs
}

// giveBack completes an assistant's message with its newest call.
func (r *reasoning) giveBack(said *chat.Message) {
	if r == nil {
		return
	}
	said.State, said.StateOf = r.State, r.StateOf
	last := &said.Calls[len(said.Calls)-1]
	last.State = r.Calls[last.ID]
}

// seal encrypts reasoning, so that no client reads or makes any. The key is that of this process: after
// its end etui gives the model what it has kept itself, if anything.
type seal struct{ cipher cipher.AEAD }

func newSeal() seal {
	block, err := aes.NewCipher([]byte(rand.Text() + rand.Text())[:32])
	if err != nil {
		panic(err) // the key has a length that AES knows
	}
	with, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has blocks of the length that GCM knows
	}
	return seal{with}
}

// owner tells the senders apart whose reasoning is whose.
func owner(m *engine.Message) []byte { return []byte(m.Client + "\n" + m.User) }

// item returns the reasoning behind the calls that a turn hands over; nil if there is none.
func (s seal) item(m *engine.Message, done *turn.End) *reasoningItem {
	thought := reasoning{State: done.State, StateOf: done.StateOf, Calls: map[string]json.RawMessage{}}
	for _, c := range done.Handed {
		if len(c.State) > 0 {
			thought.Calls[c.ID] = c.State
		}
	}
	raw, err := json.Marshal(thought)
	if err != nil || len(done.Handed) == 0 || len(thought.State)+len(thought.Calls) == 0 {
		return nil
	}
	sealed := s.cipher.Seal(nil, nil, raw, owner(m))
	return &reasoningItem{"reasoning", "rs_" + rand.Text(), []struct{}{}, base64.StdEncoding.EncodeToString(sealed)}
}

// open returns the reasoning of an item of the sender; nil if it is not from here.
func (s seal) open(m *engine.Message, content string) *reasoning {
	sealed, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil
	}
	raw, err := s.cipher.Open(nil, nil, sealed, owner(m))
	thought := &reasoning{}
	if err != nil || json.Unmarshal(raw, thought) != nil {
		return nil
	}
	return thought
}

// includes reports whether the client wants the reasoning.
func (c *request) includes() bool { return slices.Contains(c.Include, encrypted) }

package turn

import (
	"slices"

	"github.com/etui-run/etui/chat"
)

// maxImages bounds the bytes of pictures in one turn: encoded as text they stay below
// what providers accept in one request.
const maxImages = 12 << 20

// limitImages removes the pictures that exceed the turn's limit.
func (t *run) limitImages(r *chat.Result) {
	size := 0
	for _, f := range r.Images {
		size += len(f.Data)
	}
	if t.shown+size > maxImages {
		r.Images, r.Text = nil, r.Text+"\n(The picture is not shown: this turn has shown 12 MiB of pictures. Look at it after the next message.)"
		return
	}
	t.shown += size
}

// withoutImages returns messages as they are stored. Pictures are shown in their own
// turn only; later turns would pay for them again.
func withoutImages(messages []chat.Message) []chat.Message {
	stored := slices.Clone(messages)
	for i, m := range stored {
		if m.Result != nil && len(m.Result.Images) > 0 {
			r := *m.Result
			r.Images = nil
			stored[i].Result = &r
		}
	}
	return stored
}

package turn

import (
	"slices"

	"github.com/etui-run/etui/chat"
)

// maxImages is how many bytes of pictures the results of one turn have together:
// written as text they stay below what providers take in one request.
const maxImages = 12 << 20

// limitImages takes away the pictures that are too much for one turn.
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

// withoutImages are messages as they are stored: pictures are seen in their turn
// alone, and would be sent, and paid for, with every later one.
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

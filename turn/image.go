package turn

import (
	"slices"

	"github.com/etui-run/etui/chat"
)

// maxImages bounds the bytes of pictures in one turn: encoded as text they stay below
// what providers accept in one request.
const maxImages = 12 << 20

// limitImages removes the pictures that exceed the turn's limit.
func (c *calls) limitImages(r *chat.Result) {
	size := 0
	for _, f := range r.Images {
		size += len(f.Data)
	}
	if c.front.attached+c.shown+size > maxImages {
		r.Images, r.Text = nil, r.Text+"\n(The picture is not shown: this turn has shown 12 MiB of pictures. Look at it after the next message.)"
		return
	}
	c.shown += size
}

// maxFiles bounds the bytes of the files that the tools of one turn give to the user. They stay
// in memory until it ends, and one answer of a model may ask for a thousand.
const maxFiles = 64 << 20

// limitFiles removes the files that exceed the turn's limit.
func (c *calls) limitFiles(r *chat.Result) {
	if r.View == nil {
		return
	}
	size := 0
	for _, f := range r.View.Files {
		size += len(f.Data)
	}
	if c.given+size > maxFiles {
		view := *r.View
		view.Files = nil
		r.View, r.Text = &view, r.Text+"\n(But its files are not given to the user: this turn has given 64 MiB. Give them after the next message.)"
		return
	}
	c.given += size
}

// show adds the bytes of the messages' pictures to the next request. When all of them
// have more than maxImages, the older ones are described in words, up to half of it at
// once, so that the beginning of the requests changes rarely.
func (f *front) show() {
	first, size := shownFrom(f.conv.sent)
	f.attached = size
	n := 0
	for i, m := range f.conv.sent {
		if len(m.Files) == 0 || m.Role != chat.User { // what tools give to the user is not for the model
			continue
		}
		files := slices.Clone(m.Files)
		for j := range files {
			if n++; n <= first {
				files[j].Data = nil
			} else if files[j].Data == nil {
				files[j].Data = f.file(files[j].SHA256)
			}
		}
		f.conv.sent[i].Files = files
	}
}

// shownFrom returns how many of the first pictures of messages are not shown, and the
// bytes of the others.
func shownFrom(messages []chat.Message) (first, size int) {
	var sizes []int
	last := 0 // the first picture of the message
	for _, m := range messages {
		if len(m.Files) == 0 || m.Role != chat.User {
			continue
		}
		last = len(sizes)
		for _, f := range m.Files {
			sizes, size = append(sizes, f.Size), size+f.Size
		}
		for over := size > maxImages; over && first < last && size > maxImages/2; first++ {
			size -= sizes[first]
		}
	}
	return first, size
}

// file returns the bytes of a stored picture; nil if they cannot be read.
func (f *front) file(sha256 string) []byte {
	c := f.conv
	if c.in.File == nil {
		return nil
	}
	data, err := c.in.File(c.ctx, sha256)
	if err != nil {
		c.config.Log.WarnContext(c.ctx, "a picture is described in words: it cannot be read",
			"error", err, "session", c.in.Session.Key)
		return nil
	}
	return data
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

// Package wire is what the sandbox and its helper say to each other, over a
// stream socket: one [Spec] down, and events up, each with a head of five bytes.
// The helper links it, so it imports nothing.
package wire

import "errors"

// Version is that of what is written here. The helper refuses another one.
const Version = 1

// The events that the helper sends. After Started comes Ended, after Failed nothing.
const (
	// Listening carries a listening socket for the proxy. Its body, when it has one, is
	// what connections must begin with.
	Listening = 'L'
	// Started says that the program runs.
	Started = 'S'
	// Failed says why it does not: the number of the error, and where it came from.
	Failed = 'F'
	// Ended says how it ended: an [Ending].
	Ended = 'E'
)

// What is asked of the helper while the program runs. The end of the stream ends
// the program, with all that it has started.
const (
	// Ask asks the program to end (SIGTERM).
	Ask = 'T'
)

// The helper's descriptors: the stream, itself, and the first one of the folders.
const (
	Control = 3
	Program = 4
	Trees   = 5
)

// Spec is what the helper is to do.
type Spec struct {
	Version uint64
	// Isolate asks for what stands between the program and the machine's own
	// files: a root of its own. The helper is alone in new name spaces then.
	Isolate bool
	// Probe ends the helper when everything is set up; Args are not run.
	Probe bool
	// HasTrees says that the writable and readable folders come as descriptors, ready
	// to be mounted.
	HasTrees bool
	// OldKernel leaves out what newer kernels keep inside for the helper: for tests.
	OldKernel bool
	// Proxy asks for a proxy on ProxyPort, as the program sees it.
	Proxy bool

	Args, Env []string
	Dir       string
	// Writable and Readable are the folders to be seen, as real paths, beside the
	// system's own. Links are other spellings of them: pairs of name and target.
	Writable, Readable, Links []string

	UID, GID uint64

	CPU       uint64 // seconds of a process
	Data      uint64 // bytes of a process
	Memory    uint64 // bytes of all
	Processes uint64
	Tasks     uint64 // threads of all processes
	FileSize  uint64 // bytes
	Growth    uint64 // bytes of the first writable folder
	Files     uint64 // new files in it
	Scratch   uint64 // bytes of /tmp
	Shared    uint64 // bytes of /dev/shm
}

// ProxyPort is where the program finds the proxy, on 127.0.0.1.
const ProxyPort = 3128

// TokenSize is how many bytes Listening's body has.
const TokenSize = 16

// Ending is how a program ended.
type Ending struct {
	Status uint64 // as wait tells it
	Limit  string // the limit that it hit; empty for none
}

var errShort = errors.New("what the sandbox and its helper say is not understood")

// coder writes fields to a buffer or reads them from it.
type coder struct {
	buf  []byte
	read bool
	bad  bool
}

func (c *coder) number(n *uint64) {
	if !c.read {
		for i := range 8 {
			c.buf = append(c.buf, byte(*n>>(8*i)))
		}
		return
	}
	if len(c.buf) < 8 {
		c.bad = true
		return
	}
	*n = 0
	for i := range 8 {
		*n |= uint64(c.buf[i]) << (8 * i)
	}
	c.buf = c.buf[8:]
}

func (c *coder) flag(b *bool) {
	var n uint64
	if *b {
		n = 1
	}
	c.number(&n)
	*b = n == 1
}

func (c *coder) text(s *string) {
	n := uint64(len(*s))
	c.number(&n)
	if !c.read {
		c.buf = append(c.buf, *s...)
		return
	}
	if c.bad || n > uint64(len(c.buf)) {
		c.bad = true
		return
	}
	*s, c.buf = string(c.buf[:n]), c.buf[n:]
}

func (c *coder) texts(list *[]string) {
	n := uint64(len(*list))
	c.number(&n)
	if c.read {
		if c.bad || n > uint64(len(c.buf)) {
			c.bad = true
			return
		}
		*list = make([]string, n)
	}
	for i := range *list {
		c.text(&(*list)[i])
	}
}

func (c *coder) spec(s *Spec) {
	c.number(&s.Version)
	for _, b := range []*bool{&s.Isolate, &s.Probe, &s.HasTrees, &s.OldKernel, &s.Proxy} {
		c.flag(b)
	}
	for _, l := range []*[]string{&s.Args, &s.Env, &s.Writable, &s.Readable, &s.Links} {
		c.texts(l)
	}
	c.text(&s.Dir)
	for _, n := range []*uint64{&s.UID, &s.GID, &s.CPU, &s.Data, &s.Memory, &s.Processes, &s.Tasks, &s.FileSize, &s.Growth, &s.Files, &s.Scratch, &s.Shared} {
		c.number(n)
	}
}

// Encode writes a spec as a message.
func (s *Spec) Encode() []byte {
	s.Version = Version
	var c coder
	c.spec(s)
	return Message('D', c.buf)
}

// DecodeSpec reads the body of a spec's message.
func DecodeSpec(body []byte) (Spec, error) {
	c := coder{buf: body, read: true}
	var s Spec
	c.spec(&s)
	if c.bad || s.Version != Version {
		return Spec{}, errShort
	}
	return s, nil
}

// Body writes an ending as the body of its event.
func (e *Ending) Body() []byte {
	var c coder
	c.number(&e.Status)
	c.text(&e.Limit)
	return c.buf
}

// DecodeEnding reads the body of an ending's event.
func DecodeEnding(body []byte) (Ending, error) {
	c := coder{buf: body, read: true}
	var e Ending
	c.number(&e.Status)
	c.text(&e.Limit)
	if c.bad {
		return Ending{}, errShort
	}
	return e, nil
}

// Head is how many bytes stand before a message's body.
const Head = 5

// MaxBody bounds a body. Longer ones are an error.
const MaxBody = 16 << 20

// Message puts a head before a body.
func Message(kind byte, body []byte) []byte {
	n := len(body)
	return append([]byte{kind, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, body...)
}

// Length is how long the body is that a head announces, and -1 if too long.
func Length(head []byte) int {
	n := int(head[1]) | int(head[2])<<8 | int(head[3])<<16 | int(head[4])<<24
	if n > MaxBody {
		return -1
	}
	return n
}

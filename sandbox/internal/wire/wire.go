// Package wire is the protocol of the sandbox and its helper over a stream socket: one
// [Spec] to the helper, events back, each with a head of five bytes. The helper links
// it, so it imports only errors.
package wire

import "errors"

// Version is the version of the protocol. The helper refuses any other.
const Version = 3

// The events that the helper sends. After Started comes Ended, after Failed nothing.
const (
	// Listening carries a listening socket for the proxy. Connections must begin with
	// its body, which may be empty.
	Listening = 'L'
	// Started reports that the program runs.
	Started = 'S'
	// Failed reports why it does not run: the number of the error and the failed step.
	Failed = 'F'
	// Ended reports how it ended: an [Ending].
	Ended = 'E'
)

// Requests to the helper while the program runs. The end of the stream ends the program
// and its children.
const (
	// Ask asks the program to end (SIGTERM).
	Ask = 'T'
)

// The helper's descriptors: the stream, itself, and the first one of the folders.
const (
	Control = 3
	Program = 4
	Folders = 5
)

// Held is a path to the first of the folders in the helper's own process, whatever is at
// the folder's name by now. The dot keeps its end from being a link.
const Held = "/proc/self/fd/5/."

// Spec says what the helper does.
type Spec struct {
	Version uint64
	// Isolate gives the program a private root folder. The helper is alone in new name
	// spaces then.
	Isolate bool
	// Probe ends the helper when everything is set up, without running Args.
	Probe bool
	// HasTrees says that Writable and Readable are passed as descriptors, ready to be
	// mounted. HasFolder says that the first of Writable is passed as one, which cannot be
	// mounted. Where the program sees the machine's own files, Writable and Dir name it as
	// Held then.
	HasTrees, HasFolder bool
	// Holds says that after these comes a descriptor that the helper only keeps open.
	Holds bool
	// OldKernel makes the helper ignore features of newer kernels: for tests.
	OldKernel bool
	// Proxy gives the program a proxy on ProxyPort.
	Proxy bool

	Args, Env []string
	Dir       string
	// Writable and Readable are the visible folders besides the system's, as real paths.
	// Hidden are folders in them that are empty for an isolated program. Links are other paths
	// to visible folders: pairs of name and target.
	Writable, Readable, Hidden, Links []string

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

// ProxyPort is the port of the proxy on 127.0.0.1, as the program sees it.
const ProxyPort = 3128

// TokenSize is the length of the token in Listening's body.
const TokenSize = 16

// Ending is how a program ended.
type Ending struct {
	Status uint64 // as wait returns it
	Limit  string // the limit that ended it; empty for none
}

var errShort = errors.New("the sandbox and its helper do not understand each other")

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
	for _, b := range []*bool{&s.Isolate, &s.Probe, &s.HasTrees, &s.HasFolder, &s.Holds, &s.OldKernel, &s.Proxy} {
		c.flag(b)
	}
	for _, l := range []*[]string{&s.Args, &s.Env, &s.Writable, &s.Readable, &s.Hidden, &s.Links} {
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

// Head is the length of the head before a message's body.
const Head = 5

// MaxBody bounds the length of a body.
const MaxBody = 16 << 20

// Message puts a head before a body.
func Message(kind byte, body []byte) []byte {
	n := len(body)
	return append([]byte{kind, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, body...)
}

// Length returns the length of the body that a head announces, or -1 if it is too
// long.
func Length(head []byte) int {
	n := int(head[1]) | int(head[2])<<8 | int(head[3])<<16 | int(head[4])<<24
	if n > MaxBody {
		return -1
	}
	return n
}

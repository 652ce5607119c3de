package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kaptinlin/jsonrepair"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/jsonsize"
)

// Program returns the transport to a program, over its standard output and input.
func (w *Wire) Program(stdout io.ReadCloser, stdin io.WriteCloser) sdk.Transport {
	return &sdk.IOTransport{
		Reader: &messages{ReadCloser: stdout, wire: w}, Writer: input{stdin, w}, MaxLineLength: MaxMessage,
	}
}

// input is the input of a program. Each message comes in one piece.
type input struct {
	io.WriteCloser
	wire *Wire
}

func (i input) Write(message []byte) (int, error) {
	now := augmented(message)
	if !i.wire.sent(now) {
		return len(message), nil
	}
	_, err := i.WriteCloser.Write(append(bytes.TrimRight(now, "\n"), '\n'))
	return len(message), err
}

// augmented returns a call with its task where the protocol has it. The SDK has no place for it.
func augmented(message []byte) []byte {
	if !bytes.Contains(message, []byte(Task)) {
		return message
	}
	var fields, params, meta map[string]json.RawMessage
	if json.Unmarshal(message, &fields) != nil || json.Unmarshal(fields["params"], &params) != nil ||
		json.Unmarshal(params["_meta"], &meta) != nil || meta[Task] == nil {
		return message
	}
	params["task"] = meta[Task]
	delete(meta, Task)
	params["_meta"] = encoded(meta)
	fields["params"] = encoded(params)
	return encoded(fields)
}

// messages is the output of a program without what is no message: greetings, logs, progress.
// That is skipped and noted. A message may have several lines, and a line several messages;
// they are repaired and have a line each.
type messages struct {
	io.ReadCloser
	wire *Wire

	buffer []byte // read, and not looked at
	err    error  // of the last read
	open   []byte // the lines of a message that has not ended
	deep   int    // its open objects and lists
	left   []byte // of the messages to hand out
	since  int    // bytes skipped since the last message

	began       time.Time // of the second that is counted
	unrequested int       // messages in it that answer nothing
	dropped     int       // of them, since the last second without a flood
}

// maxUnrequested is how many notifications and requests of a program are read in a second. More
// would keep etui from reading its answers, and are dropped. maxDropped are the drops, without a
// calm second between them, that end the connection.
const maxUnrequested, maxDropped = 5000, 100_000

// maxNoise is how many bytes without a message end the connection: the program does not
// speak the protocol, or floods etui.
const maxNoise = 8 << 20

func (m *messages) Read(p []byte) (int, error) {
	for len(m.left) == 0 {
		line, err := m.line()
		if err != nil && len(line) == 0 {
			return 0, err
		}
		if err := m.take(line, true); err != nil {
			return 0, m.wire.noise.stop(err)
		}
	}
	n := copy(p, m.left)
	m.left = m.left[n:]
	return n, nil
}

// line reads a line, or a message without an end of its line.
func (m *messages) line() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(m.buffer[seen:], '\n'); i >= 0 {
			line := m.buffer[:seen+i]
			m.buffer = m.buffer[seen+i+1:]
			return line, nil
		}
		if seen = len(m.buffer); m.err != nil || m.whole() {
			line := m.buffer
			m.buffer = nil
			return line, m.err
		}
		if seen > MaxMessage {
			return nil, fmt.Errorf("a line of its standard output has more than %d bytes", MaxMessage)
		}
		part := make([]byte, min(max(64<<10, seen), 1<<20)) // a long line is copied a few times only
		var n int
		n, m.err = m.ReadCloser.Read(part)
		m.buffer = append(m.buffer, part[:n]...)
	}
}

// maxWhole bounds the messages that are recognised without an end of their line.
const maxWhole = 256 << 10 // bytes

func (m *messages) whole() bool {
	n := len(m.buffer)
	return n > 0 && n <= maxWhole && m.buffer[n-1] == '}' && len(m.open) == 0 && json.Valid(unmarked(m.buffer))
}

// unmarked returns a text without the mark of its byte order and what else is not seen before it.
func unmarked(line []byte) []byte {
	return bytes.TrimLeft(bytes.TrimSpace(line), "\x00\ufeff")
}

// take looks at a line. Within one, it looks for a message behind something else once.
func (m *messages) take(line []byte, within bool) error {
	line = unmarked(line)
	if len(line) == 0 {
		return nil
	}
	if len(m.open) > 0 {
		if one, _ := split(line); len(one) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
			return m.goOn(line)
		}
		if err := m.skip(m.open); err != nil { // it was no message
			return err
		}
		m.open = nil
	}
	values, rest := split(line)
	for _, v := range values {
		if err := m.add(v); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	if rest[0] == '{' || rest[0] == '[' {
		if begins(rest) {
			m.open = bytes.Clone(rest)
			_, m.deep = depth(rest)
			return nil
		}
	}
	if now := m.wire.mended(rest); now != nil {
		return m.add(now)
	}
	if i := bytes.Index(rest[1:], []byte(`{"jsonrpc"`)); within && i >= 0 {
		if err := m.skip(rest[:i+1]); err != nil {
			return err
		}
		return m.take(rest[i+1:], false)
	}
	return m.skip(rest)
}

// goOn adds a line to the open message.
func (m *messages) goOn(line []byte) error {
	_, deeper := depth(line)
	m.deep += deeper
	m.open = append(append(m.open, '\n'), line...)
	if m.deep > 0 && len(m.open) <= MaxMessage {
		return nil
	}
	whole := m.open
	m.open = nil
	if !json.Valid(whole) {
		now := m.wire.mended(whole)
		if now == nil {
			return m.skip(whole)
		}
		whole = now
	}
	m.wire.Note("messages over several lines")
	return m.add(whole)
}

// split returns the JSON values at the beginning of a line, and the rest.
func split(line []byte) (values []json.RawMessage, rest []byte) {
	d := json.NewDecoder(bytes.NewReader(line))
	for {
		var v json.RawMessage
		end := d.InputOffset()
		if d.Decode(&v) != nil {
			return values, unmarked(line[end:])
		}
		values = append(values, v)
	}
}

// begins reports whether a text is the beginning of a JSON value.
func begins(text []byte) bool {
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage)), io.ErrUnexpectedEOF)
}

// add hands out a message, or those of a batch; what is none is skipped.
func (m *messages) add(raw json.RawMessage) error {
	var batch []json.RawMessage
	if raw[0] == '[' && jsonsize.Values(raw) <= maxValues &&
		json.Unmarshal(raw, &batch) == nil && len(batch) <= maxParts {
		found := false
		for _, one := range batch {
			is, err := m.hand(one)
			if err != nil {
				return err
			}
			found = found || is
		}
		if found {
			return nil
		}
	} else if raw[0] == '{' {
		if is, err := m.hand(raw); err != nil || is {
			return err
		}
	}
	return m.skip(raw)
}

// hand hands out a message, and reports whether it is one.
func (m *messages) hand(raw []byte) (is bool, err error) {
	now, answers := m.wire.message(raw, nil)
	if now == nil {
		return false, nil
	}
	if !answers && m.floods() {
		m.wire.Note(fmt.Sprintf("more than %d notifications in a second, the rest of which was dropped",
			maxUnrequested))
		if m.dropped++; m.dropped > maxDropped {
			return false, fmt.Errorf("it sends more than %d notifications and requests in a second", maxUnrequested)
		}
		m.since = 0
		return true, nil
	}
	var line bytes.Buffer
	if json.Compact(&line, now) != nil { // what is no JSON is skipped
		return false, nil //nolint:nilerr // as above
	}
	m.left, m.since = append(append(m.left, line.Bytes()...), '\n'), 0
	return true, nil
}

// maxMended bounds the messages that are mended where they are no JSON: the time grows with the length.
const maxMended = 256 << 10 // bytes

// mended returns a message that is nearly JSON as JSON: with NaN, commas too many, line breaks in
// texts. It returns nil for everything else.
func (w *Wire) mended(text []byte) []byte {
	if len(text) > maxMended || text[0] != '{' || text[len(text)-1] != '}' ||
		!bytes.Contains(text, []byte(`"jsonrpc"`)) {
		return nil
	}
	now, err := jsonrepair.Repair(string(text))
	if err != nil || !json.Valid([]byte(now)) {
		return nil
	}
	w.Note("messages that are not quite JSON")
	return []byte(now)
}

// skip notes what is no message.
func (m *messages) skip(text []byte) error {
	m.wire.noise.add(text)
	if m.since += len(text); m.since > maxNoise {
		return fmt.Errorf("its standard output has no message in %d bytes", m.since)
	}
	return nil
}

// floods counts a message that answers nothing, and reports whether there are too many.
func (m *messages) floods() bool {
	if now := time.Now(); now.Sub(m.began) > time.Second {
		if m.unrequested <= maxUnrequested {
			m.dropped = 0
		}
		m.began, m.unrequested = now, 0
	}
	m.unrequested++
	return m.unrequested > maxUnrequested
}

// Noise says how many lines of a program's output were skipped and how the last one begins;
// empty if none was.
func (w *Wire) Noise() string { return w.noise.String() }

// StopReason returns why the connection was ended, if what the program writes was the reason.
func (w *Wire) StopReason() error {
	w.noise.mu.Lock()
	defer w.noise.mu.Unlock()
	return w.noise.why
}

// noise is what a program writes between its messages. It is safe for concurrent use.
type noise struct {
	mu    sync.Mutex
	lines int
	last  string // the beginning of the last one
	why   error  // the connection was ended because of it
}

// stop notes why the connection is ended. The program ends after that, too.
func (n *noise) stop(why error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.why = why
	return why
}

func (n *noise) add(line []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines++
	n.last = strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.lines {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 line of its standard output was no message and was skipped: %s", n.last)
	}
	const many = "%d lines of its standard output were no messages and were skipped; the last one: %s"
	return fmt.Sprintf(many, n.lines, n.last)
}

// LastingTransport returns a transport whose connection lives until a context ends, not until that of
// Connect does.
func LastingTransport(ctx context.Context, t sdk.Transport) sdk.Transport {
	return lastingTransport{t, ctx}
}

type lastingTransport struct {
	sdk.Transport
	ctx context.Context //nolint:containedctx // of the connection, which outlives the call of Connect
}

func (l lastingTransport) Connect(trying context.Context) (sdk.Connection, error) {
	ctx, cancel := context.WithCancel(l.ctx)
	stop := context.AfterFunc(trying, cancel)
	c, err := l.Transport.Connect(ctx)
	if !stop() || err != nil {
		cancel()
	}
	return c, err
}

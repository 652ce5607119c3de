package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/jsonsize"
)

// messages is the output of a program without the lines that are no messages: greetings,
// logs, progress. They are skipped and noted. Answers are repaired.
type messages struct {
	r     *bufio.Reader
	close func() error
	noise *noise
	left  []byte // of the current message
	since int    // bytes skipped since the last message

	began       time.Time // of the second that is counted
	unrequested int       // messages in it that answer nothing
}

// maxUnrequested is how many notifications and requests a program may send in a second. More
// would keep etui from reading its answers, and end the connection.
const maxUnrequested = 5000

// maxNoise is how many bytes without a message end the connection: the program does not
// speak the protocol, or floods etui.
const maxNoise = 8 << 20

func (m *messages) Read(p []byte) (int, error) {
	for len(m.left) == 0 {
		line, err := m.line()
		if len(bytes.TrimSpace(line)) > 0 {
			if message, answers := isMessage(line); message && (answers || jsonsize.Values(line) <= maxValues) {
				if !answers && m.floods() {
					return 0, m.noise.stop(fmt.Errorf("it sends more than %d notifications and requests in a second", maxUnrequested))
				}
				if answers {
					line = repair(line)
				}
				m.left, m.since = append(line, '\n'), 0
				break
			}
			m.noise.add(line)
			if m.since += len(line); m.since > maxNoise {
				return 0, m.noise.stop(fmt.Errorf("its standard output has no message in %d bytes", m.since))
			}
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.left)
	m.left = m.left[n:]
	return n, nil
}

// line reads a line without its end; one of more than maxMessage bytes is an error.
func (m *messages) line() ([]byte, error) {
	line, err := readLine(m.r)
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("a line of its standard output has more than %d bytes", maxMessage)
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil // the next call returns it
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// readLine reads a line with its end. One of more than maxMessage bytes is errTooLong.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (m *messages) Close() error { return m.close() }

// floods counts a message that answers nothing, and reports whether there are too many.
func (m *messages) floods() bool {
	if now := time.Now(); now.Sub(m.began) > time.Second {
		m.began, m.unrequested = now, 0
	}
	m.unrequested++
	return m.unrequested > maxUnrequested
}

// isMessage reports whether a line is a message of JSON-RPC, or a batch of them, and
// whether it answers a request.
func isMessage(line []byte) (message, answers bool) {
	var one struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
	}
	line = bytes.TrimSpace(line)
	if line[0] != '{' && jsonsize.Values(line) > maxValues {
		return false, false
	}
	switch line[0] {
	case '{':
		message = json.Unmarshal(line, &one) == nil && one.Version == "2.0"
	case '[':
		var batch []json.RawMessage
		message = json.Unmarshal(line, &batch) == nil && len(batch) > 0 && json.Unmarshal(batch[0], &one) == nil && one.Version == "2.0"
	}
	return message, one.Method == ""
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

// stopped returns why the connection was ended, if what the program writes was the reason.
func (n *noise) stopped() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.why
}

func (n *noise) add(line []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines++
	n.last = strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
}

// String says how many lines were skipped and how the last one begins; empty if none
// was.
func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.lines {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 line of its standard output was no message and was skipped: %s", n.last)
	}
	return fmt.Sprintf("%d lines of its standard output were no messages and were skipped; the last one: %s", n.lines, n.last)
}

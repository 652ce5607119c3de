package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// chatting is etui chat in a terminal of its own.
type chatting struct {
	*testing.T
	keys   *os.File
	screen lockedBuffer
	asked  chan string   // what the model read, without the note before it
	gone   chan struct{} // a request was ended by the client
	done   chan error    // the program has ended
}

// startChat runs etui chat in a terminal, with a model that answers at once, or never to
// messages that begin with "slow".
func startChat(t *testing.T) *chatting {
	t.Helper()
	c := &chatting{T: t, asked: make(chan string, 16), gone: make(chan struct{}, 16), done: make(chan error, 1)}
	model := httptest.NewServer(http.HandlerFunc(c.answer))
	t.Cleanup(model.Close)
	dir := t.TempDir()
	config := fmt.Sprintf("models:\n  - {name: m, provider: openai, model: m, base_url: %q, api_key: x}\n"+
		"policy: {rules: [{name: writes, ask: [write_file]}]}\n", model.URL+"/v1")
	if err := os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "etui")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "chat", "--workspace", dir)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "TERM=xterm", "GORACE=atexit_sleep_ms=0")
	if c.keys, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(&c.screen, c.keys) // ends with an error when the program does
		c.done <- cmd.Wait()
	}()
	t.Cleanup(func() { c.keys.Close() })
	c.shows("base_url: " + model.URL + "/v1") // nobody has confirmed the configuration yet
	c.shows("may it do that? [y/N] ")
	c.press("y\r")
	c.shows("\x1b[?2004h") // it reads keys now, and knows what is pasted
	return c
}

// answer is the model.
func (c *chatting) answer(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		c.Errorf("the model got no messages: %v", err)
		return
	}
	text := req.Messages[len(req.Messages)-1].Content
	if strings.HasPrefix(text, "[") { // the note with the time, and perhaps tools
		text = text[strings.LastIndex(text, "\n\n")+2:]
	}
	c.asked <- text
	if strings.HasPrefix(text, "slow") {
		<-r.Context().Done()
		c.gone <- struct{}{}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasPrefix(text, "write ") {
		args, _ := json.Marshal(fmt.Sprintf(`{"path":"a.txt","content":%q}`, strings.Repeat("long ", 40)+"end"))
		fmt.Fprintf(w, "data: "+`{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write_file","arguments":%s}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n", args)
		return
	}
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", `{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"It is **done**."},"finish_reason":"stop"}]}`)
}

func (c *chatting) press(keys string) {
	c.Helper()
	if _, err := c.keys.WriteString(keys); err != nil {
		c.Fatal(err)
	}
}

// reads waits until the model reads a text.
func (c *chatting) reads(want string) {
	c.Helper()
	select {
	case got := <-c.asked:
		if got != want {
			c.Fatalf("the model read %q, want %q", got, want)
		}
	case err := <-c.done:
		c.Fatalf("the program ended (%v) before the model read %q; its screen:\n%s", err, want, c.screen.String())
	case <-time.After(20 * time.Second):
		c.Fatalf("the model did not read %q; the screen:\n%s", want, c.screen.String())
	}
}

// shows waits until a text was printed.
func (c *chatting) shows(text string) {
	c.Helper()
	c.waits(text, func(screen string) string { return screen })
}

// types waits until the prompt shows a text. The screen gets it in parts, with commands
// for the cursor between them, also in place of blanks.
func (c *chatting) types(text string) {
	c.Helper()
	c.waits(strings.ReplaceAll(text, " ", ""), func(screen string) string {
		return strings.NewReplacer("\r", "", "\n", "", " ", "").Replace(ansi.Strip(screen))
	})
}

// waits waits until what is read of the screen contains a text.
func (c *chatting) waits(text string, read func(screen string) string) {
	c.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(read(c.screen.String()), text) {
			return
		}
	}
	c.Fatalf("the screen does not show %q:\n%s", text, c.screen.String())
}

// ends waits until the program has ended without an error.
func (c *chatting) ends() {
	c.Helper()
	select {
	case err := <-c.done:
		if err != nil {
			c.Fatalf("the program ended with %v; its screen:\n%s", err, c.screen.String())
		}
	case <-time.After(20 * time.Second):
		c.Fatalf("the program does not end; its screen:\n%s", c.screen.String())
	}
}

func TestChatEditing(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.press("我还剩几天年假\x7f\x7f\x7f\r")
	c.reads("我还剩几")
	c.shows("It is \x1b[1mdone\x1b[m.")
	c.press("\x1b[200~one\n\ttwo\nthree\x1b[201~\r")
	c.reads("one\n\ttwo\nthree")
	c.press("wrld\x1b[D\x1b[D\x1b[Do\r")
	c.reads("world")
	c.press("\x1b[A\x1b[A\x1b[A!\r") // the third message before this one
	c.reads("我还剩几!")
	c.press("\x12")
	c.shows("Type a part of the message")
	c.press("OR")
	c.types("OR")
	c.press("\x12!\r") // Ctrl-R finds the message with this text, in any case
	c.reads("world!")
	c.press("use list_d")
	c.types("use list_d")
	c.press("\t")
	c.types("use list_dir")
	c.press("please\r")
	c.reads("use list_dir please")
	c.press("\x04")
	c.ends()
}

func TestChatLongPaste(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	text := strings.Repeat("a line\n", 12_000)
	c.press("\x1b[200~" + text + "\x1b[201~")
	c.types("[paste 1: 12000 lines]")
	c.press(" count\r")
	c.reads(text + " count")
	c.press("/quit\r")
	c.ends()
}

// TestChatFolds: a call is a line until somebody unfolds it, and Tab offers the answers to one that waits.
func TestChatFolds(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	c.press("write a file\r")
	c.reads("write a file")
	c.shows("· 1 write_file {")
	c.shows("you or an operator may decide")
	c.shows("Tab: Approve / Approve for this conversation / Deny")
	c.press("\x0f") // Ctrl-O
	c.types("There is no result yet.")
	c.press("\t")
	c.types("/approve")
	c.press("\t\t\r")
	c.types("> /deny")
	c.shows("It is \x1b[1mdone\x1b[m.")
	c.press("\x0f")
	c.types("✗ 1 write_file")
	c.press("\x04")
	c.ends()
}

func TestChatInterrupt(t *testing.T) {
	t.Parallel()
	c := startChat(t)
	for i := range 3 {
		c.press(fmt.Sprintf("slow %d\r", i))
		c.reads(fmt.Sprintf("slow %d", i))
		c.press("\x03")
		<-c.gone
	}
	c.shows("(stopped)")
	c.press("next\r")
	c.reads("next")
	c.shows("done")
	for got := ""; got != "another"; { // the first one may still find the last turn running, and stop it
		c.press("half a message\x03") // clears it
		c.press("another\r")
		if got = <-c.asked; got != "another" && got != "half a messageanother" {
			t.Fatalf("the model read %q", got)
		}
	}
	c.press("/help\r")
	c.shows("Alt-Enter starts a new line")
	for range 100 { // the first ones may still find the command running, and stop it
		c.press("\x03")
		select {
		case err := <-c.done:
			c.done <- err
			c.ends()
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	c.ends()
}

package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// definitionCase is a line of a file of definitions: a case of an attack, or one tool of
// a real server, whose tools have the same group.
type definitionCase struct {
	ID, Class, Expect, Why, Group string
	Tools                         []json.RawMessage
	Lists                         [][]json.RawMessage
	Call, Reply, Config           json.RawMessage

	Name, Description string
	Parameters        json.RawMessage
}

// judgeDefinitions shows the definitions of some files to a skill of an MCP server and
// prints which ones it takes, holds back and refuses.
func judgeDefinitions(ctx context.Context, files []string, out io.Writer) error {
	for _, file := range files {
		cases, err := readDefinitions(file)
		if err != nil {
			return err
		}
		var taken, held, refused, unexpected int
		for _, c := range cases {
			lists := c.Lists
			if len(lists) == 0 {
				lists = [][]json.RawMessage{c.Tools}
			}
			st, err := offered(ctx, lists)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", file, c.ID, err)
			}
			taken, held, refused = taken+len(st.Tools)-outdated(st), held+len(st.Held), refused+len(st.Refused)
			fine := len(st.Held)+len(st.Refused) == 0
			switch c.Expect {
			case "":
				for _, h := range st.Held {
					fmt.Fprintf(out, "held back: %s %s: %s\n", c.ID, h.Tool, strings.Join(h.Why, "; "))
				}
				for _, r := range st.Refused {
					fmt.Fprintf(out, "refused: %s %s: %s\n", c.ID, r.Tool, r.Why)
				}
				continue
			case "quarantine", "reject", "needs_new_approval":
				fine = !fine
			}
			if !fine {
				unexpected++
				fmt.Fprintf(out, "not as expected: %s %s: %s: held %v, refused %v\n", c.ID, c.Expect, c.Why, st.Held,
					st.Refused)
			}
		}
		fmt.Fprintf(out, "%s: %d taken, %d held back, %d refused", file, taken, held, refused)
		if len(cases) > 0 && cases[0].Expect != "" {
			fmt.Fprintf(out, "; %d of %d cases as expected", len(cases)-unexpected, len(cases))
		}
		fmt.Fprintln(out)
	}
	return nil
}

// outdated counts the held tools of which an older definition was taken.
func outdated(st mcp.Status) (n int) {
	for _, h := range st.Held {
		if h.Accepted != nil {
			n++
		}
	}
	return n
}

// readDefinitions reads a file of cases about definitions, or of tools. It splits the
// tools into servers by their group.
func readDefinitions(file string) (cases []definitionCase, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 64<<20)
	servers, seen := map[string]*definitionCase{}, map[string]bool{}
	for lines.Scan() {
		var c definitionCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if c.Name == "" {
			if c.Call == nil && c.Reply == nil && c.Config == nil && (c.Tools != nil || len(c.Lists) > 1) {
				cases = append(cases, c)
			}
			continue
		}
		if len(c.Parameters) == 0 || string(c.Parameters) == "{}" || string(c.Parameters) == "null" {
			c.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		definition, err := json.Marshal(map[string]any{"name": c.Name, "description": c.Description,
			"inputSchema": c.Parameters})
		if err != nil {
			return nil, err
		}
		// A group may be several servers with one name: no server lists a tool twice.
		server, number, folded := c.Group, 1, strings.ReplaceAll(strings.ToLower(c.Name), "-", "_")
		for ; seen[server+" "+folded] || servers[server] != nil && len(servers[server].Tools) >= 200; number++ {
			server = fmt.Sprintf("%s (%d)", c.Group, number+1)
		}
		if servers[server] == nil {
			servers[server] = &definitionCase{ID: server}
		}
		servers[server].Tools, seen[server+" "+folded] = append(servers[server].Tools, definition), true
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		cases = append(cases, *servers[name])
	}
	return cases, lines.Err()
}

// offered runs a server that lists some tools, and others after its tools were
// approved, and returns the status of its skill.
func offered(ctx context.Context, lists [][]json.RawMessage) (st mcp.Status, err error) {
	pins := mcp.NewPins("")
	for i, list := range lists {
		if st, err = judged(ctx, pins, list); err != nil {
			return st, err
		}
		if i+1 < len(lists) && len(st.Held) > 0 {
			_, err = pins.ApproveAll("s")
		}
	}
	return st, err
}

// listing is a service that lists some tools, as the transport that reaches it.
type listing []json.RawMessage

func (l listing) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return w.Result(), nil
	}
	var request struct {
		ID     any
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	var result any = json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	if request.Method == "tools/list" {
		result = map[string]any{"tools": append([]json.RawMessage{}, l...)}
	}
	w.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
	return w.Result(), err
}

// judged runs a server until its definitions were judged.
func judged(ctx context.Context, pins *mcp.Pins, list listing) (st mcp.Status, err error) {
	loaded, err := mcp.New(mcp.Config{HTTP: &http.Client{Transport: list}, Pins: pins}).Load(skill.Config{Name: "s",
		Endpoint: "http://service.test"})
	if err != nil {
		return st, err
	}
	server := loaded.(*mcp.Server)
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Run(running, func() {})
	}()
	defer func() { stop(); <-done }()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range 20_000 {
		if st = server.Status(); st.Phase == mcp.Connected {
			return st, nil
		}
		<-look.C
	}
	return st, fmt.Errorf("the server was not reached: %s", st.Err)
}

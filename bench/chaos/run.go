package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/etui-run/etui/store/postgrestest"
)

// config says what a run does.
type config struct {
	etui, dir      string
	kills, clients int
	replicas       int // over one PostgreSQL; 0 is one etui over SQLite
}

// report is what became of the messages.
type report struct {
	kills, sent, repeats int
	full                 int // how often the disk was
	mu                   sync.Mutex
	problems             []string
}

func (r *report) String() string {
	return fmt.Sprintf("%d times harm, %d times a full disk, %d messages, sent again %d times, %d promises broken", r.kills, r.full, r.sent, r.repeats, len(r.problems))
}

func (r *report) wrong() []string { return r.problems }

func (r *report) broken(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// run starts etui, lets clients talk while it does harm, and compares what clients were
// told with what etui has stored and done.
func run(c config) (r *report, err error) {
	w := &world{done: map[string]int{}}
	services := httptest.NewServer(w)
	defer services.Close()
	var db *postgrestest.Server
	store := ""
	var small *disk // of the database
	if c.replicas > 0 {
		if db, err = postgrestest.Start(); err != nil {
			return nil, err
		}
		defer db.Close()
		store = db.URL("postgres")
		small, err = tables(db)
	} else {
		small, err = mount(filepath.Join(c.dir, "etui0", "state"), 128, "mode=0700")
	}
	defer small.unmount()
	if err != nil {
		return nil, err
	}
	gateways := make([]*gateway, max(1, c.replicas))
	defer func() {
		for _, g := range gateways {
			if g != nil && g.cmd != nil && g.cmd.Process != nil {
				_ = g.kill()
			}
		}
	}()
	for i := range gateways {
		address, err := free()
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(c.dir, fmt.Sprint("etui", i))
		if err := workspace(dir, address, services.URL, store); err != nil {
			return nil, err
		}
		gateways[i] = &gateway{etui: c.etui, dir: dir, url: "http://" + address}
		if err := gateways[i].start(); err != nil {
			return nil, err
		}
	}
	r = &report{kills: c.kills}
	var stop atomic.Bool
	var clients sync.WaitGroup
	talkers := make([]*client, c.clients)
	for i := range talkers {
		t := &client{gateways: gateways, report: r, name: fmt.Sprint("c", i)}
		talkers[i] = t
		clients.Go(func() {
			for !stop.Load() {
				t.say()
			}
		})
	}
	first := rand.Perm(kinds) // a short run has each kind, too
	for i := range c.kills {
		what := rand.IntN(2 * kinds)
		if i < len(first) {
			what = first[i]
		}
		pause(time.Duration(20+rand.IntN(600)) * time.Millisecond)
		if small != nil && (i == 1 || rand.IntN(fills) == 0) {
			r.full++
			if err = small.full(time.Duration(200+rand.IntN(3000)) * time.Millisecond); err != nil {
				break
			}
		}
		if err = harm(gateways, db, what); err != nil {
			break
		}
	}
	stop.Store(true)
	clients.Wait()
	if err != nil {
		return nil, err
	}
	for _, t := range talkers {
		t.check(w)
		r.sent, r.repeats = r.sent+t.n, r.repeats+t.repeats
	}
	return r, nil
}

// fills is after how many times other harm the disk becomes full, about.
const fills = 12

// tables puts the tables on a disk of their own. What PostgreSQL itself needs is elsewhere.
func tables(db *postgrestest.Server) (*disk, error) {
	dir, err := os.MkdirTemp("", "full")
	if err != nil {
		return nil, err
	}
	small, err := mount(dir, 256, "mode=0700,uid=65534,gid=65534") // as whom postgrestest runs the server for root
	if small == nil || err != nil {
		return nil, err
	}
	tables := filepath.Join(small.dir, "tables")
	if err = os.Mkdir(tables, 0o700); err == nil {
		err = os.Chown(tables, 65534, 65534)
	}
	if err == nil {
		err = db.Exec(context.Background(), "postgres", "CREATE TABLESPACE small LOCATION '"+tables+"'", "ALTER DATABASE postgres SET default_tablespace = small")
	}
	return small, err
}

// kinds is how many kinds of harm there are.
const kinds = 5

// harm kills a gateway, or, with a database and a what below 4, does something
// else to it or to the database.
func harm(gateways []*gateway, db *postgrestest.Server, what int) error {
	g := gateways[rand.IntN(len(gateways))]
	if db == nil {
		what = kinds
	}
	switch what {
	case 0: // longer and shorter than a lease
		if err := g.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(time.Duration(500+rand.IntN(7000)) * time.Millisecond)
		return g.cmd.Process.Signal(syscall.SIGCONT)
	case 1:
		db.Stop([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[rand.IntN(2)])
		pause(time.Duration(rand.IntN(2000)) * time.Millisecond)
		return db.Run()
	case 2:
		return db.Exec(context.Background(), "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'etui' AND random() < 0.7")
	case 3:
		for _, value := range []string{"on", "off"} {
			if err := db.Exec(context.Background(), "postgres", "SET default_transaction_read_only = off",
				"ALTER SYSTEM SET default_transaction_read_only = "+value, "SELECT pg_reload_conf()"); err != nil {
				return err
			}
			pause(time.Duration(rand.IntN(1500)) * time.Millisecond)
		}
		return nil
	}
	if err := g.kill(); err != nil {
		return err
	}
	if len(gateways) > 1 {
		pause(time.Duration(rand.IntN(1500)) * time.Millisecond) // the others go on
	}
	return g.start()
}

// world is the model, and the service behind the tool.
type world struct {
	mu   sync.Mutex
	done map[string]int // how often the tool ran, by message
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a client that was killed sends half of it
	if r.URL.Path == "/mark" {
		var in struct{ Text string }
		_ = json.Unmarshal(body, &in)
		w.mu.Lock()
		w.done[in.Text]++
		w.mu.Unlock()
		pause(time.Duration(rand.IntN(10)) * time.Millisecond)
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, `"marked"`)
		return
	}
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 {
		http.Error(out, "no request", http.StatusBadRequest)
		return
	}
	pause(time.Duration(rand.IntN(30)) * time.Millisecond)
	last := req.Messages[len(req.Messages)-1]
	question := ""
	for _, m := range req.Messages {
		if m.Role == "user" {
			text := string(m.Content)
			if at := strings.LastIndex(text, "message "); at >= 0 {
				question = strings.FieldsFunc(text[at+len("message "):], func(r rune) bool { return r != 'c' && r != '/' && (r < '0' || r > '9') })[0]
			}
		}
	}
	delta := fmt.Sprintf(`{"content":"answer to %s"}`, question)
	reason := "stop"
	if last.Role == "user" && strings.HasSuffix(question, "3") {
		arguments, _ := json.Marshal(fmt.Sprintf(`{"text":%q}`, question))
		delta, reason = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%s","type":"function","function":{"name":"mark","arguments":%s}}]}`, strings.ReplaceAll(question, "/", "_"), arguments), "tool_calls"
	}
	out.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(out, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n"+
		"data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", delta, reason)
}

// workspace writes the configuration and the skill.
func workspace(dir, address, services, store string) error {
	mark := `name: mark
description: Mark a message. It must not be done twice.
provider: http
risk_level: write
endpoint: ` + services + `/mark
parameters: {type: object, properties: {text: {type: string}}, required: [text]}
`
	text := fmt.Sprintf("listen: %s\nstate: %s\nlog: {level: warn}\nmodels: [{name: mock, provider: openai, model: mock, base_url: %q}]\nskills: {local: [%s]}\n",
		address, filepath.Join(dir, "state"), services+"/v1", strings.TrimPrefix(services, "http://"))
	if store != "" {
		text += fmt.Sprintf("store: %q\n", store)
	}
	if err := os.MkdirAll(filepath.Join(dir, "skills"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "skills", "mark.yaml"), []byte(mark), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte(text), 0o600)
}

// pause is how a kill comes at a random moment, and how a client waits before it tries
// again.
func pause(d time.Duration) { <-time.After(d) }

func get(address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

func free() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// gateway is the running etui.
type gateway struct {
	etui, dir, url string
	cmd            *exec.Cmd
	said           bytes.Buffer
}

// patience is how long etui may take to start, and a message to be answered.
const patience = time.Minute

func (g *gateway) start() error {
	_ = os.Remove(filepath.Join(g.dir, "state", "instance.json"))
	g.said.Reset()
	g.cmd = exec.CommandContext(context.Background(), g.etui, "serve")
	g.cmd.Dir, g.cmd.Env = g.dir, []string{"HOME=" + g.dir, "ETUI_TRUST=" + g.dir, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	g.cmd.Stdout, g.cmd.Stderr = &g.said, &g.said
	if err := g.cmd.Start(); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < patience; pause(3 * time.Millisecond) {
		if resp, err := get(g.url + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	_ = g.kill()
	return fmt.Errorf("etui did not start:\n%s", g.said.String())
}

func (g *gateway) kill() error {
	err := g.cmd.Process.Kill()
	_ = g.cmd.Wait() // it was killed
	return err
}

// client is one conversation.
type client struct {
	*report
	gateways []*gateway
	name     string
	n        int      // messages sent
	repeats  int      // how often one was sent again
	replies  []string // what the client was told
}

// say sends the next message until it is answered.
func (c *client) say() {
	c.n++
	id := fmt.Sprintf("%s/%d", c.name, c.n)
	body, _ := json.Marshal(map[string]string{"text": "message " + id, "session": c.name, "user": c.name})
	for began := time.Now(); time.Since(began) < patience; pause(5 * time.Millisecond) {
		if reply, ok := c.post(id, body); ok {
			c.replies = append(c.replies, reply)
			if reply != "answer to "+id && !strings.HasPrefix(reply, "I could not finish this") {
				c.broken("%s was answered: %s", id, reply)
			}
			return
		}
		c.repeats++
	}
	c.replies = append(c.replies, "")
	c.broken("%s was not answered within %s", id, patience)
}

// post sends a message once, and reports whether it has ended.
func (c *client) post(id string, body []byte) (reply string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // a gateway may be paused
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.gateways[rand.IntN(len(c.gateways))].url+"/api/chat", bytes.NewReader(body))
	if err != nil {
		return err.Error(), true
	}
	req.Header.Set("Idempotency-Key", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		return "", false
	}
	for lines := json.NewDecoder(resp.Body); ; {
		var line struct {
			Done  *struct{ Reply string }
			Error json.RawMessage
			Code  string
		}
		switch err := lines.Decode(&line); {
		case err != nil:
			return "", false // the connection broke
		case line.Code == "stopping" || line.Code == "database_unavailable":
			return "", false
		case line.Error != nil:
			return fmt.Sprintf("error %s", line.Error), true
		case line.Done != nil:
			return line.Done.Reply, true
		}
	}
}

// check compares what the client was told with what is stored and was done.
func (c *client) check(w *world) {
	var questions, answers []string
	key := c.key()
	for skip := 0; ; {
		var page struct {
			Phase string
			Said  []struct {
				Role, Text string
				Calls      []any
				Result     *struct{ Unknown bool }
			}
		}
		resp, err := get(fmt.Sprintf("%s/admin/sessions/%s?limit=1000&skip=%d", c.gateways[0].url, key, skip))
		if err != nil {
			c.broken("%s cannot be read: %v", c.name, err)
			return
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil || len(page.Said) == 0 {
			if skip == 0 || err != nil {
				c.broken("%s cannot be read: %d, %v", c.name, resp.StatusCode, err)
			}
			break
		}
		if page.Phase != "done" {
			c.broken("%s is %s", c.name, page.Phase)
		}
		for _, m := range page.Said {
			switch {
			case m.Role == "user":
				questions = append(questions, strings.TrimPrefix(m.Text, "message "))
			case m.Role == "assistant" && len(m.Calls) == 0:
				answers = append(answers, m.Text)
			}
		}
		skip += len(page.Said)
	}
	if len(questions) != c.n || len(answers) != c.n {
		c.broken("%s sent %d messages; %d questions and %d answers are stored", c.name, c.n, len(questions), len(answers))
	}
	for i := range min(len(questions), len(answers), c.n) {
		id := fmt.Sprintf("%s/%d", c.name, i+1)
		if questions[i] != id {
			c.broken("%s: question %d is %s: lost, doubled or out of order", c.name, i+1, questions[i])
			break
		}
		if answers[i] != c.replies[i] {
			c.broken("%s: stored is %q, and the client was told %q", id, answers[i], c.replies[i])
		}
		w.mu.Lock()
		if n := w.done[id]; n > 1 {
			c.broken("%s was marked %d times", id, n)
		}
		w.mu.Unlock()
	}
}

// key is the name of the client's session as etui has it.
func (c *client) key() string {
	var page struct{ Sessions []struct{ Key string } }
	resp, err := get(c.gateways[0].url + "/api/sessions?user=" + c.name)
	if err == nil {
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
	}
	if err != nil || len(page.Sessions) != 1 {
		c.broken("%s has %d sessions: %v", c.name, len(page.Sessions), err)
		return "none"
	}
	return url.PathEscape(page.Sessions[0].Key)
}

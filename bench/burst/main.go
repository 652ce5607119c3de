// Burst writes messages of many chats to one Telegram account of etui, much faster than
// people do, and checks that each is answered once and in order:
//
//	go run ./bench/burst -chats 1000 -rate 500 -messages 5000
//
// It starts the program with a model and a Telegram in its own process, and prints what was
// lost, repeated or out of order, how long answers took, and the most memory that etui held.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/etui-run/etui/channel/telegram/telegramtest"
	"github.com/etui-run/etui/internal/panics"
)

func main() {
	log.SetFlags(0)
	var b burst
	flag.StringVar(&b.etui, "etui", "bin/etui", "the program")
	flag.IntVar(&b.chats, "chats", 1000, "how many people write")
	flag.IntVar(&b.rate, "rate", 500, "how many messages come in a second")
	flag.IntVar(&b.messages, "messages", 5000, "how many come in all")
	flag.DurationVar(&b.patience, "patience", 2*time.Minute, "how long answers are waited for")
	flag.Parse()
	if err := b.run(); err != nil {
		log.Fatal("burst: ", err)
	}
}

type burst struct {
	etui                  string
	chats, rate, messages int
	patience              time.Duration

	mu      sync.Mutex
	written map[int]time.Time // by message: when it was written
}

func (b *burst) run() error {
	if b.chats < 1 || b.rate < 1 || b.messages < 1 {
		return errors.New("-chats, -rate and -messages are above zero")
	}
	dir, err := os.MkdirTemp("", "burst")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	telegram := telegramtest.Start()
	defer telegram.Close()
	model := httptest.NewServer(http.HandlerFunc(answer))
	defer model.Close()
	stop, err := b.start(dir, telegram, model.URL)
	if err != nil {
		return err
	}
	var took []time.Duration
	answered := map[int]bool{}
	next := make([]int, b.chats) // by chat: the number of the message whose answer comes next
	seen := make([]int, b.chats) // by chat: how many answers were read
	lost, repeated, disordered := 0, 0, 0
	for i := range next {
		next[i] = i
	}
	look := func() {
		for chat := range b.chats {
			sent := telegram.Sent(strconv.Itoa(chat + 1))
			for _, m := range sent[seen[chat]:] {
				number, err := strconv.Atoi(strings.TrimPrefix(m.Text, "answer "))
				b.mu.Lock()
				at, asked := b.written[number]
				b.mu.Unlock()
				switch {
				case err != nil || !asked:
					log.Printf("chat %d got %q", chat+1, m.Text)
				case answered[number]:
					repeated++
				default:
					answered[number] = true
					took = append(took, time.Since(at))
					if number != next[chat] {
						disordered++
					}
					next[chat] = number + b.chats
				}
			}
			seen[chat] = len(sent)
		}
	}
	began := time.Now()
	go func() {
		defer panics.Log(slog.Default(), "writing")
		b.write(telegram, began)
	}()
	for len(answered) < b.messages && time.Since(began) < time.Duration(b.messages/b.rate)*time.Second+b.patience {
		<-time.After(10 * time.Millisecond)
		look()
	}
	all := time.Since(began)
	<-time.After(time.Second) // for what comes twice
	look()
	lost = b.messages - len(answered)
	memory, err := stop()
	if err != nil {
		return err
	}
	slices.Sort(took)
	if len(took) == 0 {
		return errors.New("nothing was answered")
	}
	log.Printf("%d messages of %d chats at %d/s: %d lost, %d repeated, %d out of order", b.messages, b.chats, b.rate, lost, repeated, disordered)
	log.Printf("answered in %.1f s, %.0f/s; p50 %v, p99 %v, seen every 10 ms", all.Seconds(), float64(len(answered))/all.Seconds(), took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond))
	log.Printf("most memory %s", memory)
	if lost+repeated+disordered > 0 {
		return errors.New("promises were broken")
	}
	return nil
}

// write writes the messages at their times, each chat in turn.
func (b *burst) write(telegram *telegramtest.Server, began time.Time) {
	for i := range b.messages {
		<-time.After(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(b.rate))))
		id := i%b.chats + 1
		b.mu.Lock()
		b.written[i] = time.Now()
		b.mu.Unlock()
		person := telegramtest.Object{"id": id, "is_bot": false, "first_name": fmt.Sprint("P", id)}
		telegram.Write(telegramtest.Object{"from": person, "chat": telegramtest.Object{"id": id, "type": "private"}, "text": fmt.Sprint("message ", i)})
	}
}

// start starts etui; the function that it returns stops it, and says how much memory it held
// at most.
func (b *burst) start(dir string, telegram *telegramtest.Server, model string) (stop func() (string, error), err error) {
	b.written = map[int]time.Time{}
	config := fmt.Sprintf("listen: 127.0.0.1:0\nstate: %s\nlog: {level: warn}\nmodels: [{name: m, provider: openai, model: m, base_url: %q}]\n"+
		"channels: [{name: telegram, type: telegram, token: %q, url: %q, allow: [\"*\"], whole: true, per_minute: 1000}]\n",
		filepath.Join(dir, "state"), model+"/v1", telegram.Token, telegram.URL)
	if err := os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), b.etui, "serve", "-w", dir)
	cmd.Env = append(os.Environ(), "ETUI_TRUST="+dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(20 * time.Second); len(telegram.Calls("getUpdates")) == 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			return nil, errors.Join(errors.New("etui asked Telegram for nothing"), cmd.Wait())
		}
	}
	return func() (string, error) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err == nil {
			err = cmd.Process.Signal(syscall.SIGTERM)
		}
		memory := "unknown"
		for line := range strings.Lines(string(status)) {
			if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				n, _ := strconv.Atoi(strings.Fields(kb)[0])
				memory = fmt.Sprintf("%.1f MiB", float64(n)/1024)
			}
		}
		return memory, errors.Join(err, cmd.Wait())
	}, nil
}

// answer is a model that answers a message by its number.
func answer(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	said := asked.Messages[len(asked.Messages)-1].Content
	chunk := map[string]any{
		"id": "1", "object": "chat.completion.chunk", "model": "m",
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": "answer " + said[strings.LastIndexByte(said, ' ')+1:]}, "finish_reason": "stop"}},
	}
	var raw bytes.Buffer
	if json.NewEncoder(&raw).Encode(chunk) == nil {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\ndata: [DONE]\n\n", raw.String())
	}
}

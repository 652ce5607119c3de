package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/text/language"

	"github.com/etui-run/etui/internal/printable"
)

// Desk keeps the logins that people have begun, until they end. It serves the page that browsers
// come back to.
//
// Whoever opens a person's link can log in there, also with an account of another person. So the
// page shows a code, and the login counts only when the person of the link has said that code: the
// one who opened the link and the one who asked for it are the same then.
//
// A Desk is safe for concurrent use. Its logins end with the process.
type Desk struct {
	base string
	now  func() time.Time

	mu    sync.Mutex
	begun map[string]*openLogin // by state
}

// openLogin is a login that has not ended.
type openLogin struct {
	*Attempt
	until time.Time
	code  string // that the page showed; empty before
	tries int    // wrong codes
}

// The bounds of a desk.
const (
	// Lasts is how long a person may take for a login.
	Lasts     = 10 * time.Minute
	maxBegun  = 5000
	maxPerson = 5 // of a person at a server
	maxTries  = 5
)

// The paths of a desk's pages.
const (
	// BackPath is where browsers come back to.
	BackPath = "/mcp/login"
	// DocumentPath is where authorization servers read what etui is.
	DocumentPath = "/mcp/client.json"
)

// NewDesk returns a desk whose pages are below base, as in https://etui.example.com. A nil clock
// is the system's.
func NewDesk(base string, now func() time.Time) *Desk {
	if now == nil {
		now = time.Now
	}
	return &Desk{base: strings.TrimSuffix(base, "/"), now: now, begun: map[string]*openLogin{}}
}

// Redirect returns where browsers go after a login.
func (d *Desk) Redirect() string { return d.base + BackPath }

// Document returns the URL of the document that describes the desk's client; empty if
// authorization servers cannot read it.
func (d *Desk) Document() string {
	if strings.HasPrefix(d.base, "https://") {
		return d.base + DocumentPath
	}
	return ""
}

// Link is the error of a request that needs a login of the person who asked for it.
type Link struct {
	Server, URL string
}

func (l *Link) Error() string {
	return fmt.Sprintf("the server %s wants a login of this person, who opens within %d minutes: %s", l.Server,
		int(Lasts/time.Minute), l.URL)
}

// Begin keeps an attempt. It always returns an error: a [*Link] if it is kept.
func (d *Desk) Begin(_ context.Context, a *Attempt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	var first *openLogin
	of := 0
	for _, b := range d.begun {
		if b.Server != a.Server || b.Person != a.Person {
			continue
		}
		if of++; first == nil || b.until.Before(first.until) {
			first = b
		}
	}
	switch {
	case of >= maxPerson:
		delete(d.begun, first.State)
	case len(d.begun) >= maxBegun:
		return errors.New("too many people log in now: try again in some minutes")
	}
	d.begun[a.State] = &openLogin{Attempt: a, until: d.now().Add(Lasts)}
	return &Link{a.Server, a.Link}
}

// sweep forgets logins that took too long.
func (d *Desk) sweep() {
	for state, b := range d.begun {
		if !d.now().Before(b.until) {
			delete(d.begun, state)
		}
	}
}

// take returns the login with a state, once; nil if there is none.
func (d *Desk) take(state string) *openLogin {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	b := d.begun[state]
	if b == nil || b.code != "" {
		return nil
	}
	delete(d.begun, state)
	return b
}

// ServeHTTP answers a browser that comes back from an authorization server, and authorization
// servers that want to know what etui is.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, DocumentPath) {
		d.describe(w)
		return
	}
	says, answer := wordsFor(r), ParseAnswer(r.URL.Query())
	b := d.take(answer.State)
	if b == nil {
		write(w, http.StatusNotFound, says.over, says.another)
		return
	}
	if err := b.exchange(r.Context(), answer); err != nil {
		write(w, http.StatusBadGateway, says.failed, printable.Line(err.Error(), maxSaid))
		return
	}
	code := rand.Text()[:8]
	d.mu.Lock()
	b.code = code
	d.begun[b.State] = b // until its time is over
	d.mu.Unlock()
	write(w, http.StatusOK, fmt.Sprintf(says.code, code), fmt.Sprintf(says.use, b.Server))
}

// maxSaid is how many bytes of an error the page shows.
const maxSaid = 500

// words are what the page says, in a language of the browser.
type words struct{ over, another, failed, code, use string }

func wordsFor(r *http.Request) words {
	wanted, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // none of a mistake
	if _, i, _ := language.NewMatcher([]language.Tag{language.English, language.Chinese}).Match(wanted...); i == 1 {
		return words{
			over: "这个登录链接已失效。", another: "链接已被使用，或已超过十分钟。请在聊天中重新获取。",
			failed: "登录失败。", code: "还差一步：%s",
			use: "请把这个代码发到你收到链接的聊天中，以登录 %s。如果链接是别人发给你的，请关闭本页，不要把代码告诉任何人：" +
				"别人可以用它使用你的账户。",
		}
	}
	return words{
		over: "This login is over.", another: "Its link was used, or is older than ten minutes. " +
			"Ask for another one in the chat.",
		failed: "The login failed.", code: "Almost done: %s",
		use: "Write this code in the chat where you got the link, to log in to %s there. " +
			"Did somebody else send you the link? Then close this page, and give the code to nobody: " +
			"it would let them use your account.",
	}
}

// describe writes the document of the client.
func (d *Desk) describe(w http.ResponseWriter) {
	if d.Document() == "" {
		write(w, http.StatusNotFound, "No document.", "The gateway has no https address in api.url.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		ID string `json:"client_id"`
		oauthex.ClientRegistrationMetadata
	}{d.Document(), *registration(d.Redirect(), "none")}) // who asked may be gone
}

// write writes a page of text.
func write(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><meta name=viewport content=\"width=device-width\"><title>etui</title>"+
		"<h1>%s</h1><p>%s</p>\n", html.EscapeString(title), html.EscapeString(text))
}

// Confirm ends the login of a person at a server who has said the code. Few wrong codes end it,
// too.
func (d *Desk) Confirm(ctx context.Context, server, person, code string) error {
	code = strings.ToUpper(strings.TrimSpace(code))
	d.mu.Lock()
	d.sweep()
	var found *openLogin
	waiting := false
	for _, b := range d.begun {
		if b.Server != server || b.Person != person || b.code == "" {
			continue
		}
		waiting = true
		if subtle.ConstantTimeCompare([]byte(b.code), []byte(code)) == 1 {
			found = b
		} else if b.tries++; b.tries >= maxTries {
			delete(d.begun, b.State)
		}
	}
	if found != nil {
		delete(d.begun, found.State)
	}
	d.mu.Unlock()
	switch {
	case found != nil:
		return found.keep(ctx)
	case waiting:
		return errors.New("that is not the code that the page shows to this person")
	}
	return errors.New("no login of this person waits for a code: the person opens the link first")
}

// Erase forgets what people have begun.
func (d *Desk) Erase(_ context.Context, names []string) (map[string]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for state, b := range d.begun {
		for _, name := range names {
			if b.Person == name {
				delete(d.begun, state)
				n++
				break
			}
		}
	}
	return map[string]int{"logins": n}, nil
}

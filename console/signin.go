package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Role is what somebody who signed in may do.
type Role string

// The roles. Each may do what those before it may.
const (
	// Viewer reads.
	Viewer Role = "viewer"
	// Operator also answers, stops, and changes agents, skills and tasks.
	Operator Role = "operator"
	// Owner also changes keys, people and the configuration.
	Owner Role = "owner"
)

// ParseRole reads a role; empty is an owner.
func ParseRole(s string) (Role, error) {
	role := cmp.Or(Role(s), Owner)
	if !slices.Contains([]Role{Viewer, Operator, Owner}, role) {
		return "", fmt.Errorf("there is no role %q; there are viewer, operator and owner", s)
	}
	return role, nil
}

// Person is somebody who signed in.
type Person struct {
	// Name says who it is, in the audit.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Proof is what its page sends as [ProofHeader]. Only the answer to a sign-in has it.
	Proof string `json:"proof,omitempty"`
	// Key names the API key by which they came in, also through links; empty means none.
	Key string `json:"-"`
	// Leave is the address that ends their session at the provider by which they came in; empty means none.
	Leave string `json:"-"`
}

// ProofHeader is the header by which the page proves that it is the one that signed in. Cookies go
// to every port of a host, and every port can set them; the page keeps the proof at its own origin.
const ProofHeader = "Etui-Console"

const (
	// maxLinks and maxSessions are how many count at a time; a further one ends the oldest.
	maxLinks, maxSessions = 64, 256
	// linkLasts is how long a link is good, for one use, and lasts how long somebody stays signed in.
	linkLasts, lasts = 10 * time.Minute, 12 * time.Hour
	// cookieName is the cookie's at the gateway's machine, and publicName behind HTTPS, where browsers
	// take a cookie of such a name from nobody but this host.
	cookieName, publicName = "etui_console", "__Host-etui-console"
)

// ErrLink says that a link is no longer good.
var ErrLink = errors.New("this link was used, or is older than ten minutes; etui console makes another one")

// Console serves the page and keeps who signed in, in memory: after a restart everybody signs in
// again. It is safe for concurrent use.
type Console struct {
	// Public is the origin at which other machines reach the console, as in https://etui.example.com;
	// empty means nowhere. It is set before the first request.
	Public string
	// Schema is that of [File], for the editor. It is set before the first request.
	Schema []byte
	// Counts reports whether a [Person]'s key still lets people in. It is set before the first request.
	Counts   func(key string) bool
	now      func() time.Time
	mu       sync.Mutex
	links    map[[32]byte]entry
	sessions map[[32]byte]entry
}

// entry is a link or a session, under the hash of its secret.
type entry struct {
	Person
	host  string   // that the session is bound to
	proof [32]byte // the hash of its proof
	until time.Time
}

// New returns a console. A nil now is [time.Now].
func New(now func() time.Time) *Console {
	if now == nil {
		now = time.Now
	}
	return &Console{now: now, links: map[[32]byte]entry{}, sessions: map[[32]byte]entry{}}
}

// Link returns a secret that lets p sign in once, within ten minutes.
func (c *Console) Link(p Person) string {
	return c.keep(c.links, maxLinks, entry{Person: p, until: c.now().Add(linkLasts)})
}

// counts reports whether an entry is good: it is not too old, and its key was not revoked.
func (c *Console) counts(e entry) bool {
	return e.until.After(c.now()) && (e.Key == "" || c.Counts == nil || c.Counts(e.Key))
}

// keep stores an entry under the hash of a new secret.
func (c *Console) keep(in map[[32]byte]entry, most int, e entry) (secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(in, func(_ [32]byte, old entry) bool { return !c.counts(old) })
	for len(in) >= most {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(in)),
			func(a, b [32]byte) int { return in[a].until.Compare(in[b].until) })
		delete(in, oldest)
	}
	secret = rand.Text()
	in[sha256.Sum256([]byte(secret))] = e
	return secret
}

// Redeem signs in the browser of a request with the secret of a link.
func (c *Console) Redeem(w http.ResponseWriter, r *http.Request, secret string) (Person, error) {
	c.mu.Lock()
	hash := sha256.Sum256([]byte(secret))
	link, ok := c.links[hash]
	delete(c.links, hash)
	c.mu.Unlock()
	if !ok || !c.counts(link) {
		return Person{}, ErrLink
	}
	return c.SignIn(w, r, link.Person), nil
}

// SignIn signs the browser of a request in as p, always with a new secret.
func (c *Console) SignIn(w http.ResponseWriter, r *http.Request, p Person) Person {
	p.Proof = rand.Text()
	e := entry{Person: p, host: r.Host, proof: sha256.Sum256([]byte(p.Proof)), until: c.now().Add(lasts)}
	e.Proof = ""
	c.forget(r) // nobody signs out who was signed in before
	http.SetCookie(w, c.cookie(r, c.keep(c.sessions, maxSessions, e), int(lasts/time.Second)))
	return p
}

// Elsewhere reports whether a request is for the console's public address, and from no page of
// another origin.
func (c *Console) Elsewhere(r *http.Request) bool {
	_, host, _ := strings.Cut(c.Public, "://")
	from := r.Header.Get("Origin")
	return c.Public != "" && strings.EqualFold(r.Host, host) && (from == "" || strings.EqualFold(from, c.Public))
}

// SignOut ends the session of a browser.
func (c *Console) SignOut(w http.ResponseWriter, r *http.Request) {
	c.forget(r)
	http.SetCookie(w, c.cookie(r, "", -1))
}

// forget ends the session of a browser.
func (c *Console) forget(r *http.Request) {
	if kept, err := r.Cookie(c.cookie(r, "", 0).Name); err == nil {
		c.mu.Lock()
		delete(c.sessions, sha256.Sum256([]byte(kept.Value)))
		c.mu.Unlock()
	}
}

func (c *Console) cookie(r *http.Request, value string, age int) *http.Cookie {
	kept := &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode}
	if strings.HasPrefix(c.Public, "https://") && c.Elsewhere(r) { // a proxy speaks TLS for the gateway
		kept.Name, kept.Secure = publicName, true
	}
	return kept
}

// Who returns who signed in with the browser of a request, at the address that it uses. The request
// proves that it comes from the page.
func (c *Console) Who(r *http.Request) (Person, bool) {
	if c == nil {
		return Person{}, false
	}
	kept, err := r.Cookie(c.cookie(r, "", 0).Name)
	if err != nil {
		return Person{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sessions[sha256.Sum256([]byte(kept.Value))]
	if !ok || !c.counts(s) || s.host != r.Host || s.proof != sha256.Sum256([]byte(r.Header.Get(ProofHeader))) {
		return Person{}, false
	}
	return s.Person, true
}

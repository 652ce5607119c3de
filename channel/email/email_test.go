package email_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-message"
	gomail "github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/email"
	"github.com/etui-run/etui/chat"
)

// place is a mail provider: the IMAP server of go-imap and the SMTP server of go-smtp.
type place struct {
	user      *imapmemserver.User
	imap, out *listener
	tls       *tls.Config // with its certificate; it is that of example.com
	roots     *x509.CertPool

	mu   sync.Mutex
	n    int
	sent []sent
	last string                     // mail
	fail map[string]*smtp.SMTPError // by command, once
}

type sent struct {
	to  string
	raw []byte
}

// listener remembers its connections.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

func listen(t *testing.T) *listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &listener{Listener: l}
}

func start(t *testing.T) *place {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	p := &place{
		user: imapmemserver.NewUser("bot@example.net", "secret"), imap: listen(t), out: listen(t), fail: map[string]*smtp.SMTPError{},
		tls: &tls.Config{Certificates: certified.TLS.Certificates}, roots: x509.NewCertPool(), //nolint:gosec // a test
	}
	p.roots.AddCert(certified.Certificate())
	if err := p.user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	users := imapmemserver.New()
	users.AddUser(p.user)
	quiet := log.New(io.Discard, "", 0)
	in := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return users.NewSession(), nil, nil
		},
		InsecureAuth: true, TLSConfig: p.tls, Logger: quiet,
	})
	out := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &taking{place: p}, nil }))
	out.Domain, out.AllowInsecureAuth, out.ErrorLog, out.TLSConfig = "example.com", true, quiet, p.tls
	var all sync.WaitGroup
	all.Go(func() { _ = in.Serve(p.imap) })
	all.Go(func() { _ = out.Serve(p.out) })
	t.Cleanup(func() {
		_, _ = in.Close(), out.Close()
		_, _ = p.imap.Close(), p.out.Close() // also if serving had not begun
		all.Wait()
	})
	return p
}

// taking is a session of the SMTP server.
type taking struct {
	*place
	to string
}

func (s *taking) failing(command string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.fail[command]
	delete(s.fail, command)
	if err == nil {
		return nil
	}
	return err
}

func (s *taking) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *taking) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if err := s.failing("AUTH"); err != nil {
			return err
		}
		if user != "bot@example.net" || password != "secret" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}
func (s *taking) Mail(string, *smtp.MailOptions) error { return s.failing("MAIL") }
func (s *taking) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return s.failing("RCPT")
}
func (s *taking) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err == nil {
		err = s.failing("DATA")
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, sent{s.to, raw})
	}
	return err
}
func (s *taking) Reset()        {}
func (s *taking) Logout() error { return nil }

func (p *place) config() email.Config {
	return email.Config{
		IMAP: "imap://" + p.imap.Addr().String(), SMTP: "smtp://" + p.out.Addr().String(),
		Address: "Bot <Bot@example.net>", User: "bot@example.net", Password: "secret", AuthServ: "mx.example.net", PerHour: 100,
		Poll: 50 * time.Millisecond, // the server does not announce what arrives just before IDLE
	}
}

func open(t *testing.T, c email.Config) *email.Channel {
	t.Helper()
	made, err := email.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (p *place) Channel(t *testing.T) channel.Channel { return open(t, p.config()) }

// deliver puts a mail into the mailbox.
func (p *place) deliver(t *testing.T, raw string) {
	t.Helper()
	if _, err := p.user.Append("INBOX", bytes.NewReader([]byte(strings.ReplaceAll(raw, "\n", "\r\n"))), &imap.AppendOptions{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// unread counts the mails that nobody has read.
func (p *place) unread(t *testing.T) uint32 {
	t.Helper()
	s, err := p.user.Status("INBOX", &imap.StatusOptions{NumUnseen: true})
	if err != nil {
		t.Fatal(err)
	}
	return *s.NumUnseen
}

const pass = "Authentication-Results: mx.example.net; dmarc=pass header.from=example.org\n"

func (p *place) Say(t *testing.T, m channel.Incoming) string {
	t.Helper()
	p.mu.Lock()
	p.n++
	id := fmt.Sprintf("m%d@example.org", p.n)
	p.mu.Unlock()
	p.last = fmt.Sprintf("%sFrom: %s <%s@Example.org>\nTo: bot@example.net\nMessage-ID: <%s>\nContent-Type: text/plain; charset=utf-8\n\n%s\n", pass, m.From.Name, m.From.ID, id, m.Text)
	p.deliver(t, p.last)
	return id
}

// Again implements [channeltest.Again]: the same mail is in the mailbox once more.
func (p *place) Again(t *testing.T) { p.deliver(t, p.last) }

// parts reads a mail: its header, and its parts by media type.
func (s sent) parts(t *testing.T) (message.Header, map[string]string) {
	t.Helper()
	r, err := gomail.CreateReader(bytes.NewReader(s.raw))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return r.Header.Header, found
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind string
		switch h := part.Header.(type) {
		case *gomail.InlineHeader:
			kind, _, _ = h.ContentType()
		case *gomail.AttachmentHeader:
			kind, _ = h.Filename()
		}
		raw, err := io.ReadAll(part.Body)
		if err != nil {
			t.Fatal(err)
		}
		found[kind] = strings.ReplaceAll(string(raw), "\r\n", "\n")
	}
}

func (p *place) outbox() []sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

func (p *place) Seen(t *testing.T, who string) (texts []string) {
	for _, s := range p.outbox() {
		if s.to == who+"@example.org" {
			_, parts := s.parts(t)
			texts = append(texts, parts["text/plain"])
		}
	}
	return texts
}

func (p *place) Fail(_ *testing.T, how channeltest.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch how {
	case channeltest.Away:
		p.fail["MAIL"] = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "the queue is away"}
	case channeltest.Gone:
		p.fail["RCPT"] = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	case channeltest.Rejected:
		p.fail["DATA"] = &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0},
			Message: "this cannot be read"}
	case channeltest.Refused:
		p.fail["AUTH"] = &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong password"}
	}
}

func (p *place) Picky()                       {}
func (p *place) Patient()                     {}
func (p *place) Cut(*testing.T)               { p.imap.cut() }
func (p *place) Redelivers()                  {}
func (p *place) Direct()                      {}
func (p *place) Steady()                      {}
func (p *place) Names() (person, room string) { return "4711@example.org", "" }

func TestConformance(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return start(t) })
}

// box is a receiver.
type box struct {
	got  chan channel.Incoming
	errs chan error
}

func newBox() box { return box{make(chan channel.Incoming, 100), make(chan error, 10)} }

func (b box) Receive(_ context.Context, m channel.Incoming) error {
	b.got <- m
	select {
	case err := <-b.errs:
		return err
	default:
		return nil
	}
}

func (b box) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-b.got:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no mail was handed over")
		panic("unreachable")
	}
}

// run runs a channel until the returned function is called, which returns its error.
func run(t *testing.T, c *email.Channel, in channel.Receiver) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, in) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// mail is one from ann, with more fields.
func mail(fields, text string) string {
	return fields + "From: Ann <ann@example.org>\nTo: bot@example.net\n\n" + text + "\n"
}

func TestWhoIsBelieved(t *testing.T) {
	t.Parallel()
	results := func(text string) string { return "Authentication-Results: " + text + "\n" }
	for name, c := range map[string]struct {
		fields string
		taken  bool
	}{
		"nothing":                        {"", false},
		"dmarc":                          {results("mx.example.net; spf=pass smtp.mailfrom=example.org; dmarc=pass (p=none) header.from=example.org"), true},
		"name in other case and folded":  {results("MX.Example.NET 1;\n dkim=pass header.d=other.example;\n dmarc = pass header.from=Example.ORG"), true},
		"of another server":              {results("mx.evil.example; dmarc=pass header.from=example.org"), false},
		"of another domain":              {results("mx.example.net; dmarc=pass header.from=evil.example"), false},
		"two of dmarc":                   {results("mx.example.net; dmarc=pass header.from=evil.example; dmarc=pass header.from=example.org"), false},
		"without a domain":               {results("mx.example.net; dmarc=pass"), false},
		"dkim":                           {results("mx.example.net; dkim=pass header.d=example.org header.s=a"), true},
		"dkim by identity":               {results("mx.example.net; dkim=pass header.i=@example.org"), true},
		"dkim of a domain above":         {results("mx.example.net; dkim=pass header.d=org"), false},
		"dkim of a domain below":         {results("mx.example.net; dkim=pass header.d=mail.example.org"), false},
		"dkim of one that ends alike":    {results("mx.example.net; dkim=pass header.d=ample.org"), false},
		"dkim, but dmarc fails":          {results("mx.example.net; dkim=pass header.d=example.org; dmarc=fail header.from=example.org"), false},
		"dkim, and no policy":            {results("mx.example.net; dkim=pass header.d=example.org; dmarc=none header.from=example.org"), true},
		"dkim fails":                     {results("mx.example.net; dkim=fail header.d=example.org"), false},
		"spf alone":                      {results("mx.example.net; spf=pass smtp.mailfrom=ann@example.org"), false},
		"in a comment":                   {results("mx.example.net; spf=none (; dmarc=pass header.from=example.org)"), false},
		"in a quoted address":            {results(`mx.example.net; spf=pass smtp.mailfrom="; dmarc=pass header.from=example.org"@evil.example`), false},
		"a comment that never ends":      {results("mx.example.net; dmarc=pass header.from=example.org; spf=none (oh"), false},
		"below that of the server":       {results("mx.example.net; dmarc=fail header.from=example.org") + results("mx.example.net; dmarc=pass header.from=example.org"), false},
		"below that of another":          {results("lists.example; dmarc=fail header.from=example.org") + results("mx.example.net; dmarc=pass header.from=example.org"), true},
		"two writers":                    {pass + "From: Ann <ann@example.org>\n", false},
		"automatic":                      {pass + "Auto-Submitted: auto-replied\n", false},
		"said not to be":                 {pass + "X-Autoreply: no\n", true},
		"not automatic":                  {pass + "Auto-Submitted: no\n", true},
		"bulk":                           {pass + "Precedence: Bulk\n", false},
		"a list":                         {pass + "List-Id: <all.example.org>\n", false},
		"a newsletter":                   {pass + "List-Unsubscribe: <https://example.org>\n", false},
		"an absence":                     {pass + "X-Auto-Response-Suppress: All\n", false},
		"an absence by its subject":      {pass + "Subject: Automatic reply: Hello\n", false},
		"an absence in Chinese":          {pass + "Subject: =?utf-8?B?6Ieq5Yqo5Zue5aSNOiDkvaDlpb0=?=\n", false},
		"an absence in German":           {pass + "Subject: Abwesenheitsnotiz: Hallo\n", false},
		"an absence in French":           {pass + "Subject: =?utf-8?Q?R=C3=A9ponse_automatique=C2=A0:_Bonjour?=\n", false},
		"an absence in Hindi":            {pass + "Subject: =?utf-8?B?4KS44KWN4KS14KSa4KS+4KSy4KS/4KSkIOCkieCkpOCljeCkpOCksDogaGk=?=\n", false},
		"an absence in Croatian":         {pass + "Subject: Automatski odgovor: Bok\n", false},
		"an absence of Notes":            {pass + "Subject: AUTO: Ann Lee is out of the office (returning 12/01/2026)\n", false},
		"about a car":                    {pass + "Subject: Auto: Reparatur\n", true},
		"an answer to an absence":        {pass + "Subject: Re: Automatic reply: Hello\n", true},
		"about an absence":               {pass + "Subject: Out of office rules for 2026\n", true},
		"written in Outlook":             {pass + "X-Auto-Response-Suppress: DR, RN, NRN, OOF, AutoReply\n", true},
		"no receipts":                    {pass + "X-Auto-Response-Suppress: DR, RN, NRN\n", true},
		"first class":                    {pass + "Precedence: first-class\n", true},
		"a company's footer":             {pass + "List-Unsubscribe: <mailto:u@example.org>\n", true},
		"an older program":               {pass + "X-Autogenerated: Reply\n", false},
		"a bounce":                       {pass + "Return-Path: <>\n", false},
		"a report":                       {pass + "Content-Type: multipart/report; report-type=delivery-status; boundary=b\n", false},
		"a field that cannot be read":    {"Authentication-Results: ;;\n" + pass, true},
		"a header that cannot be parsed": {pass + "no colon here\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			in := newBox()
			p.deliver(t, mail(c.fields, "the one"))
			p.deliver(t, mail(pass+"Message-ID: <end@example.org>\n", "the end"))
			stop := run(t, open(t, p.config()), in)
			got := in.next(t)
			if taken := strings.HasSuffix(got.Text, "the one"); taken != c.taken {
				t.Errorf("taken: %v", taken)
			} else if taken && in.next(t).Text != "the end" {
				t.Error("the next mail is another one")
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStrangers: nothing but the header is read of a mail whose writer may not write; and letters that
// only look alike, or fold to each other, make another writer.
func TestStrangers(t *testing.T) {
	t.Parallel()
	p := start(t)
	in := choosy{newBox()}
	p.deliver(t, strings.ReplaceAll(mail(pass+"Message-ID: <a@example.org>\nSubject: hi\n", "from a stranger"), "ann@", "eve@"))
	p.deliver(t, strings.ReplaceAll(mail(pass+"Message-ID: <b@example.org>\n", "from a double"), "ann@", "fran\u212a@"))
	p.deliver(t, strings.ReplaceAll(mail(pass+"Message-ID: <c@example.org>\n", "from frank"), "ann@", "FRANK@"))
	run(t, open(t, p.config()), in)
	for _, want := range [][2]string{{"eve@example.org", ""}, {"fran\u212a@example.org", ""}, {"frank@example.org", "from frank"}} {
		if m := in.next(t); m.From.ID != want[0] || m.Text != want[1] || m.Time.IsZero() || m.ID == "" {
			t.Errorf("got %+v, want %q", m, want)
		}
	}
}

// choosy is a receiver that wants to hear of frank only.
type choosy struct{ box }

func (choosy) Wants(_ context.Context, m channel.Incoming) bool {
	return m.From.ID == "frank@example.org"
}

func TestUnproven(t *testing.T) {
	t.Parallel()
	p := start(t)
	config := p.config()
	config.Unproven = true
	in := newBox()
	p.deliver(t, mail("Message-ID: <a@example.org>\n", "forged?"))
	p.deliver(t, mail(pass+"Message-ID: <b@example.org>\n", "proven"))
	c := open(t, config)
	run(t, c, in)
	forged, proven := in.next(t), in.next(t)
	if forged.From.ID != "unproven/ann@example.org" || forged.At.Chat != forged.From.ID || proven.From.ID != "ann@example.org" {
		t.Errorf("got %+v and %+v", forged, proven)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: forged.At, Text: "who?"}); err != nil || p.outbox()[0].to != "ann@example.org" {
		t.Errorf("sent %v, %v", p.outbox(), err)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	p := start(t)
	in := newBox()
	in.errs <- errors.New("the store is away")
	one := mail(pass+"Message-ID: <1@example.org>\nSubject: Lunch\nReferences: <0@example.org>\n", "one")
	p.deliver(t, one)
	c := open(t, p.config())
	if err := c.Run(t.Context(), in); err == nil || p.unread(t) != 1 {
		t.Fatalf("after an error %d are unread: %v", p.unread(t), err)
	}
	in.next(t)
	stop := run(t, c, in)
	at := in.next(t).At
	p.deliver(t, mail("Message-ID: <2@example.org>\n", "nothing proves this"))
	p.deliver(t, mail(pass+"Message-ID: <3@example.org>\n", "three"))
	if got := in.next(t); got.ID != "3@example.org" {
		t.Errorf("got %+v", got)
	}
	p.deliver(t, mail(pass+"Message-ID: <4@example.org>\n", "four"))
	in.next(t) // so the mark of the one before was set
	if err := stop(); err != nil {
		t.Error(err)
	}

	again := open(t, p.config()) // as after a restart
	// An answer waits in the outbox, and nothing is known about its mail any more.
	if _, err := again.Send(t.Context(), channel.Outgoing{To: at, Text: "yes", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	h, _ := p.outbox()[0].parts(t)
	if subject, _ := h.Text("Subject"); subject != "Re: Lunch" || h.Get("References") != "<0@example.org> <1@example.org>" || h.Get("In-Reply-To") != "<1@example.org>" {
		t.Errorf("the answer has %q, %q", subject, h.Get("References"))
	}
	run(t, again, in)
	p.deliver(t, mail(pass+"Message-ID: <5@example.org>\n", "five"))
	for got := in.next(t); got.ID != "5@example.org"; got = in.next(t) {
		if got.ID != "4@example.org" { // its mark may not have been set
			t.Errorf("got again %+v", got)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	p := start(t)
	config := p.config()
	config.Poll = time.Hour
	in := newBox()
	p.deliver(t, mail(pass, "first"))
	run(t, open(t, config), in)
	in.next(t)
	for i := 0; ; i++ { // until one is announced
		p.deliver(t, mail(fmt.Sprintf("%sMessage-ID: <%d@example.org>\n", pass, i), "more"))
		select {
		case <-in.got:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if i > 1000 {
			t.Fatal("nothing is announced")
		}
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	p := start(t)
	config := p.config()
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return silent{conn}, err
	}
	in := newBox()
	run(t, open(t, config), in)
	p.Say(t, channel.Incoming{From: channel.Sender{ID: "ann"}, Text: "first"})
	in.next(t)
	p.Say(t, channel.Incoming{From: channel.Sender{ID: "ann"}, Text: "second"})
	if got := in.next(t); got.Text != "second" {
		t.Errorf("got %+v", got)
	}
}

// silent hides that a server announces mail.
type silent struct{ net.Conn }

func (s silent) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	copy(b[:n], bytes.ReplaceAll(b[:n], []byte(" IDLE"), []byte(" NONE")))
	return n, err
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	p := start(t)
	config := p.config()
	config.PerHour = 2
	in := newBox()
	for i := range 5 {
		p.deliver(t, mail(fmt.Sprintf("%sMessage-ID: <%d@example.org>\nSubject: Re: 1\n", pass, i), fmt.Sprint(i)))
	}
	for i := range 12 { // they answer nothing
		p.deliver(t, mail(fmt.Sprintf("%sMessage-ID: <n%d@example.org>\n", pass, i), "new "+fmt.Sprint(i)))
	}
	p.deliver(t, strings.ReplaceAll(mail(pass, "of bob"), "ann@", "bob@"))
	run(t, open(t, config), in)
	got := []string{}
	for len(got) == 0 || got[len(got)-1] != "of bob" {
		_, text, _ := strings.Cut("\n\n"+in.next(t).Text, "\n\n")
		got = append(got, text[strings.LastIndex(text, "\n")+1:])
	}
	if want := "0,1,new 0,new 1,new 2,new 3,new 4,new 5,new 6,new 7,of bob"; strings.Join(got, ",") != want {
		t.Errorf("got %q", got)
	}
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	p := start(t)
	config := p.config()
	config.IMAP, config.SMTP = "imap://example.com", "smtp://example.com"
	config.TLS = &tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		to := map[string]*listener{"example.com:143": p.imap, "example.com:587": p.out}[address]
		return (&net.Dialer{}).DialContext(ctx, network, to.Addr().String())
	}
	if account, err := open(t, config).Probe(t.Context()); err != nil || account != "Bot@example.net, at example.com" {
		t.Errorf("probe: %q, %v", account, err)
	}
	p.tls.Certificates = nil
	untrusted := config
	untrusted.TLS = nil
	if _, err := open(t, untrusted).Probe(t.Context()); err == nil {
		t.Error("a certificate that nobody knows is trusted")
	}
	// A server that does not encrypt learns no password.
	plain := start(t)
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, plain.out.Addr().String())
		return stripped{conn}, err
	}
	config.IMAP = "imap://" + plain.imap.Addr().String()
	if _, err := open(t, config).Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "ann@example.org"}, Text: "x"}); err == nil || len(plain.outbox()) > 0 {
		t.Errorf("it was sent without encryption: %v", err)
	}
}

// stripped takes STARTTLS away both ways, as somebody on the way could.
type stripped struct{ net.Conn }

func (s stripped) Write(b []byte) (int, error) {
	return s.Conn.Write(bytes.ReplaceAll(b, []byte("STARTTLS"), []byte("XXXXXXXX")))
}

func (s stripped) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	copy(b[:n], bytes.ReplaceAll(b[:n], []byte("STARTTLS"), []byte("XXXXXXXX")))
	return n, err
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	p := start(t)
	config := p.config()
	config.Password = "hunter2"
	c := open(t, config)
	err := c.Run(t.Context(), newBox())
	_, sending := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "ann@example.org"}, Text: "x"})
	for _, err := range []error{err, sending} {
		if !errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAnswersOfTheServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := open(t, p.config())
	for _, test := range []struct {
		command string
		code    int
		text    string
		want    error // nil: later
		limited bool
	}{
		{"MAIL", 421, "too many connections", nil, true},
		{"RCPT", 450, "4.7.1 rate limit exceeded", nil, true},
		{"RCPT", 450, "greylisted, come again", nil, false},
		{"MAIL", 550, "not your address", channel.ErrRefused, false},
		{"RCPT", 550, "no such user", channel.ErrGone, false},
		{"RCPT", 530, "log in first", channel.ErrRefused, false},
		{"DATA", 554, "5.7.1 this is spam", channel.ErrRejected, false},
		{"DATA", 552, "5.3.4 Message size exceeds fixed limit", channel.ErrRejected, false},
		{"DATA", 550, "5.4.5 Daily user sending limit exceeded.", nil, true},
		{"DATA", 554, "5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException", nil, true},
		{"MAIL", 550, "5.4.6 too many messages today", nil, true},
		{"RCPT", 550, "5.7.1 Service unavailable, Client host blocked using Spamhaus", channel.ErrRefused, false},
		{"DATA", 550, "5.7.26 This mail is unauthenticated, SPF and DKIM did not pass", channel.ErrRefused, false},
		{"DATA", 550, "5.7.60 SMTP; Client does not have permissions to send as this sender", channel.ErrRefused, false},
		{"DATA", 550, "5.7.708 Access denied, traffic not accepted from this IP", channel.ErrRefused, false},
		{"RCPT", 554, "5.7.1 Relay access denied", channel.ErrRefused, false},
		{"RCPT", 552, "5.2.2 The mailbox is over quota", channel.ErrGone, false},
		{"RCPT", 550, "5.2.1 The email account that you tried to reach is disabled", channel.ErrGone, false},
		{"RCPT", 452, "4.2.2 The mailbox is over quota", nil, false},
		{"RCPT", 421, "4.7.0 Temporary system problem", nil, false},
		{"DATA", 451, "not now", nil, false},
	} {
		p.mu.Lock()
		p.fail[test.command] = &smtp.SMTPError{Code: test.code, EnhancedCode: smtp.NoEnhancedCode, Message: test.text}
		p.mu.Unlock()
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "ann@example.org"}, Text: "x"})
		var limited *channel.Limited
		if err == nil || errors.As(err, &limited) != test.limited || test.want != nil && !errors.Is(err, test.want) ||
			test.want == nil && (errors.Is(err, channel.ErrGone) || errors.Is(err, channel.ErrRefused) ||
				errors.Is(err, channel.ErrRejected)) {
			t.Errorf("%s %d %s: %v", test.command, test.code, test.text, err)
		}
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "ann@example.org>\r\nRCPT TO:<bob@example.org"}}); !errors.Is(err, channel.ErrGone) || len(p.outbox()) > 0 {
		t.Errorf("an address with a command in it: %v", err)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := open(t, p.config())
	m := channel.Outgoing{
		To:    channel.Address{Chat: "ann@example.org"},
		Text:  "**Bold**\n<script>alert(1)</script>\n\n<b>raw</b>\n\n[a](javascript:x) [b](https://example.org/?q=\"1\") ![secret](https://evil.example/p.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n.\n",
		Files: []chat.File{{Name: "图.png", MediaType: "image/png", Data: []byte{0, 1, 2}}, {Name: "x\r\nBcc: y", MediaType: "multipart/mixed", Data: []byte("x")}},
		Key:   "etui-1",
	}
	id, err := c.Send(t.Context(), m)
	again, _ := c.Send(t.Context(), m)
	m.Key = "etui-2"
	other, _ := c.Send(t.Context(), m)
	if err != nil || id == "" || id != again || id == other {
		t.Fatalf("IDs %q, %q, %q, %v", id, again, other, err)
	}
	h, parts := p.outbox()[0].parts(t)
	if h.Get("Message-Id") != "<"+id+">" || h.Get("Auto-Submitted") != "auto-replied" || h.Has("Bcc") || h.Get("Subject") != "Message from Bot" {
		t.Errorf("header: %v", h.Map())
	}
	page := parts["text/html"]
	for _, want := range []string{"<strong>Bold</strong>", "&lt;script&gt;", "&lt;b&gt;raw", "<td>1</td>", ">secret</a>", `href="https://example.org/?q=`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	for _, bad := range []string{"<script", `"javascript:`, "<img", "<b>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q:\n%s", bad, page)
		}
	}
	if strings.TrimSpace(parts["text/plain"]) != strings.TrimSpace(m.Text) || parts["图.png"] != "\x00\x01\x02" {
		t.Errorf("parts: %q", parts)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	good := email.Config{IMAP: "imaps://imap.example.org/Agents", SMTP: "smtps://smtp.example.org", Address: "a@example.org", AuthServ: "mx"}
	for name, change := range map[string]func(*email.Config){
		"http":               func(c *email.Config) { c.IMAP = "https://imap.example.org" },
		"a password":         func(c *email.Config) { c.SMTP = "smtps://a:b@smtp.example.org" },
		"no address":         func(c *email.Config) { c.Address = "a" },
		"nothing is checked": func(c *email.Config) { c.AuthServ = "" },
		"a line break":       func(c *email.Config) { c.Password = "a\nb" },
	} {
		c := good
		change(&c)
		if _, err := email.New(c); err == nil {
			t.Errorf("%s is accepted", name)
		} else if strings.Contains(err.Error(), "a:b") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := email.New(good); err != nil {
		t.Error(err)
	}
}

// TestLoop: a program that answers each of our mails with the same text is left alone after the second.
func TestLoop(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Thank you for your message. Your ticket is number %d.", "您好，您的邮件已收到，我会尽快回复您。编号 number %d."} {
		testLoop(t, text)
	}
}

func testLoop(t *testing.T, automatic string) {
	t.Helper()
	p := start(t)
	in := newBox()
	c := open(t, p.config())
	id, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "ann@example.org"}, Text: "hello",
		Key: "etui-1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		text := fmt.Sprintf(automatic, i)
		p.deliver(t, mail(fmt.Sprintf("%sMessage-ID: <t%d@example.org>\nIn-Reply-To: <%s>\n", pass, i, id), text))
	}
	p.deliver(t, mail(pass+"Message-ID: <h@example.org>\nIn-Reply-To: <"+id+">\n",
		"Thanks, and one more question of mine."))
	run(t, c, in)
	for _, want := range []string{"number 0.", "number 1.", "of mine."} {
		if got := in.next(t).Text; !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want the one with %q", got, want)
		}
	}
}

package email

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// session is a connection with the mailbox open.
type session struct {
	c       *Channel
	client  *imapclient.Client
	conn    net.Conn
	changed chan struct{} // has an element when mail has arrived
	idle    bool          // the server announces mail
}

// Run hands over what arrives, until ctx ends or the connection does.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s, err := c.connect(ctx)
	if err == nil {
		defer s.close()
		end := context.AfterFunc(ctx, func() { _ = s.conn.Close() }) // what waits for the server ends
		defer end()
		for err == nil {
			if err = s.take(ctx, in); err == nil {
				err = s.wait(ctx)
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// connect logs in and opens the mailbox.
func (c *Channel) connect(ctx context.Context) (*session, error) {
	conn, err := c.dial(ctx, c.in)
	if err != nil {
		return nil, fmt.Errorf("connecting to the IMAP server: %w", err)
	}
	s := &session{c: c, conn: conn, changed: make(chan struct{}, 1)}
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer end()
	defer s.within(step)()
	options := &imapclient.Options{UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: func(m *imapclient.UnilateralDataMailbox) {
		if m.NumMessages != nil {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}}}
	if c.in.tls || c.in.open {
		s.client = imapclient.New(conn, options)
	} else {
		options.TLSConfig = c.tls(c.in)
		if s.client, err = imapclient.NewStartTLS(conn, options); err != nil {
			_ = conn.Close() // it is of no use
			return nil, fmt.Errorf("encrypting the connection to the IMAP server: %w", err)
		}
	}
	if err := s.login(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) login() error {
	if err := s.client.WaitGreeting(); err != nil {
		return fmt.Errorf("connecting to the IMAP server: %w", err)
	}
	if err := s.client.Login(s.c.config.User, s.c.config.Password).Wait(); err != nil {
		return refusedIMAP("logging in to the IMAP server", err)
	}
	s.idle = s.client.Caps().Has(imap.CapIdle)
	if s.client.Caps().Has(imap.CapID) { // 163.com and its like open no mailbox to a client without a name
		if _, err := s.client.ID(&imap.IDData{Name: "etui", Version: s.c.config.Version}).Wait(); err != nil {
			s.c.log.Warn("the IMAP server does not take this program's name", "error", err)
		}
	}
	box, err := s.client.Select(s.c.mailbox, nil).Wait()
	if err != nil {
		return refusedIMAP(fmt.Sprintf("opening the mailbox %s", s.c.mailbox), err)
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.validity != box.UIDValidity { // the UIDs mean other mails now
		s.c.validity, s.c.next = box.UIDValidity, 1
	}
	return nil
}

// refusedIMAP is what an answer to a login means: the server refuses the account, unless it says
// that it is busy.
func refusedIMAP(doing string, err error) error {
	var said *imap.Error
	if errors.As(err, &said) && said.Type == imap.StatusResponseTypeNo {
		text := printable.Line(said.Text, 200)
		switch said.Code {
		case imap.ResponseCodeUnavailable, imap.ResponseCodeInUse, imap.ResponseCodeLimit, imap.ResponseCodeServerBug:
			return fmt.Errorf("%s: the server says: %s", doing, text)
		}
		return fmt.Errorf("%s: the server says: %s: %w", doing, text, channel.ErrRefused)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// within closes the connection unless the returned function is called in time.
func (s *session) within(d time.Duration) (stop func()) {
	t := time.AfterFunc(d, func() { _ = s.conn.Close() })
	return func() { t.Stop() }
}

func (s *session) close() { _ = s.client.Close() } // all that matters was said

// wait waits until mail has arrived. After Config.Poll it returns without: some servers do not
// announce what arrives just before IDLE, and a lost connection has to be noticed.
func (s *session) wait(ctx context.Context) error {
	timer := time.NewTimer(s.c.config.Poll)
	defer timer.Stop()
	var idle *imapclient.IdleCommand
	if s.idle {
		stop := s.within(step)
		var err error
		idle, err = s.client.Idle()
		stop()
		if err != nil {
			return fmt.Errorf("waiting for mail: %w", err)
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.client.Closed():
		return errors.New("the IMAP server has closed the connection")
	case <-s.changed:
	case <-timer.C:
	}
	if idle == nil {
		return nil
	}
	defer s.within(step)()
	err := idle.Close()
	if err == nil {
		err = idle.Wait()
	}
	if err != nil {
		return fmt.Errorf("waiting for mail: %w", err)
	}
	return nil
}

// take hands over what is unread, the oldest first.
func (s *session) take(ctx context.Context, in channel.Receiver) error {
	select {
	case <-s.changed:
	default:
	}
	s.c.mu.Lock()
	next := s.c.next
	s.c.mu.Unlock()
	uids, err := s.unread(next)
	if err != nil {
		return fmt.Errorf("looking for mail: %w", err)
	}
	for _, uid := range uids {
		if err := s.one(ctx, uid, in); err != nil {
			return fmt.Errorf("taking mail %d: %w", uid, err)
		}
		s.c.mu.Lock()
		s.c.next = uid + 1
		s.c.mu.Unlock()
	}
	return nil
}

func (s *session) unread(next imap.UID) ([]imap.UID, error) {
	defer s.within(step)()
	var from imap.UIDSet
	from.AddRange(next, 0)
	// Without another command a server that does not announce mail may not look for it.
	if err := s.client.Noop().Wait(); err != nil {
		return nil, err
	}
	found, err := s.client.UIDSearch(&imap.SearchCriteria{
		UID: []imap.UIDSet{from}, NotFlag: []imap.Flag{imap.FlagSeen, imap.FlagDeleted}, Since: time.Now().Add(-oldest),
	}, nil).Wait()
	if err != nil {
		return nil, err
	}
	uids := slices.DeleteFunc(found.AllUIDs(), func(u imap.UID) bool { return u < next }) // 7:* has the last mail, too
	slices.Sort(uids)
	return uids, nil
}

// one hands over a mail and marks it as read. It leaves alone what it cannot read and what is
// not to be answered.
func (s *session) one(ctx context.Context, uid imap.UID, in channel.Receiver) error {
	raw, arrived, err := s.fetch(uid, imap.PartSpecifierHeader, maxHeader)
	if err != nil || raw == nil {
		return err // without bytes it was deleted
	}
	h, err := readHead(raw)
	why := ""
	switch {
	case err != nil:
		s.c.log.WarnContext(ctx, "a mail stays unread, because it cannot be answered", "uid", uint32(uid), "reason",
			err)
		return nil
	default:
		why = s.c.unwanted(h)
	}
	if why != "" {
		s.c.leave(ctx, uid, h, why)
		return nil
	}
	if _, done := s.c.taken.Get(h.id + " " + h.from.Address); !done {
		limits := s.c.limits(h)
		if slices.ContainsFunc(limits, func(l *rate.Limiter) bool { return l.Tokens() < 1 }) {
			s.c.leave(ctx, uid, h, "too many have come from the address in an hour")
			return nil
		}
		m := s.c.envelope(h)
		m.Time = arrived
		if channel.Wanted(ctx, in, m) {
			raw, _, err := s.fetch(uid, imap.PartSpecifierNone, maxMail)
			if err != nil || raw == nil {
				return err
			}
			m.Text, m.Files = s.c.read(ctx, h, raw)
			if slices.ContainsFunc(h.references, s.c.isOurs) && s.c.loops(h.from.Address, m.Text, time.Now()) {
				s.c.leave(ctx, uid, h, "it answers with the same text again and again, as a program does")
				s.c.taken.Put(h.id+" "+h.from.Address, struct{}{})
				return nil
			}
		}
		if err := in.Receive(ctx, m); err != nil {
			return err
		}
		for _, l := range limits {
			l.Allow()
		}
		s.c.taken.Put(h.id+" "+h.from.Address, struct{}{})
	}
	defer s.within(step)()
	return s.client.Store(imap.UIDSetNum(uid),
		&imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagSeen}}, nil).Close()
}

// fetch returns the first bytes of a mail or of its header, and when it arrived. Without
// bytes there is no such mail any more.
func (s *session) fetch(uid imap.UID, part imap.PartSpecifier, most int64) ([]byte, time.Time, error) {
	defer s.within(transfer)()
	section := &imap.FetchItemBodySection{Specifier: part, Peek: true, Partial: &imap.SectionPartial{Size: most}}
	found, err := s.client.Fetch(imap.UIDSetNum(uid),
		&imap.FetchOptions{UID: true, InternalDate: true, BodySection: []*imap.FetchItemBodySection{section}}).Collect()
	if err != nil {
		return nil, time.Time{}, err
	}
	for _, m := range found {
		if m.UID == uid && len(m.BodySection) > 0 {
			return m.BodySection[0].Bytes, m.InternalDate, nil
		}
	}
	return nil, time.Time{}, nil
}

// unwanted says why a mail is not taken; empty if it is.
func (c *Channel) unwanted(h head) string {
	switch {
	case h.from.Address == strings.ToLower(c.self.Address):
		return "it comes from the account itself"
	case h.automatic != "":
		return h.automatic
	case !c.config.Unproven && !c.proves(h):
		return "nothing proves that it comes from the address in its From"
	}
	return ""
}

func (c *Channel) proves(h head) bool {
	_, domain, _ := strings.Cut(h.from.Address, "@")
	return !h.shared && proven(h.results, c.config.AuthServ, domain)
}

// unasked is how many times more mails are taken that answer none.
const unasked = 5

// limits returns the limits of a mail: one for all mails of its address, and for an answer a second one,
// because a program may answer each of ours.
func (c *Channel) limits(h head) []*rate.Limiter {
	limit := func(key string, perHour int) *rate.Limiter {
		l, ok := c.rates.Get(key)
		if !ok {
			l = rate.NewLimiter(rate.Every(time.Hour/time.Duration(perHour)), perHour)
			c.rates.Put(key, l)
		}
		return l
	}
	list := []*rate.Limiter{limit(h.from.Address, unasked*c.config.PerHour)}
	if len(h.references) > 0 || answered.MatchString(h.subject) {
		list = append(list, limit("re: "+h.from.Address, c.config.PerHour))
	}
	return list
}

func (c *Channel) leave(ctx context.Context, uid imap.UID, h head, why string) {
	from := ""
	if h.from != nil {
		from = h.from.Address
	}
	c.log.InfoContext(ctx, "a mail is left unread", "uid", uint32(uid), "from", from, "reason", why)
}

// envelope is what the header of a mail says to the host.
func (c *Channel) envelope(h head) channel.Incoming {
	who := h.from.Address
	if !c.proves(h) {
		who = unproven + who
	}
	c.originals.Put(h.id, originalOf(h))
	return channel.Incoming{
		ID: h.id, From: channel.Sender{ID: who, Handle: h.from.Address, Name: h.from.Name},
		At: channel.Address{Chat: who, Thread: h.threadOf(), Message: h.id},
	}
}

// read returns what a mail says.
func (c *Channel) read(ctx context.Context, h head, raw []byte) (text string, files []chat.File) {
	b := readBody(raw, len(raw) >= maxMail)
	if len(b.mended) > 0 {
		slices.Sort(b.mended)
		mended := strings.Join(slices.Compact(b.mended), ", ")
		c.log.InfoContext(ctx, "a mail was read although it is broken", "from", h.from.Address, "mended", mended)
	}
	answers := slices.ContainsFunc(h.references, c.isOurs)
	// A mail that answers none of ours may quote what the agent has not seen. Some programs do not say
	// which one they answer.
	if text = b.text; forwards(h.subject) {
		text = newest(text, false, "")
	} else {
		text = newest(text, answers, lower(c.self.Address))
	}
	if text = strings.TrimSpace(text + "\n\n" + b.attached); text == "" && len(b.files) == 0 {
		text = "[The mail has no text.]"
	}
	if h.subject != "" && !answers && !strings.HasPrefix(text, "/") {
		text = strings.TrimSpace("Subject: " + h.subject + "\n\n" + text)
	}
	return text, b.files
}

// forwards reports whether a subject is that of a mail that somebody passes on.
func forwards(subject string) bool {
	for _, begin := range []string{
		"fwd:", "fw:", "wg:", "tr:", "rv:", "enc:", "vb:", "vs:", "pd:", "doorst:", "转发:", "转发：", "轉寄:",
		"轉寄：",
	} {
		if strings.HasPrefix(strings.ToLower(subject), begin) {
			return true
		}
	}
	return false
}

// original is what an answer takes from the mail that it answers.
type original struct {
	messageID  string
	references []string
	subject    string
}

func originalOf(h head) original { return original{h.messageID, h.references, h.subject} }

// original returns the mail that is answered: from memory, or after a restart from the
// mailbox. If it is not there, the answer has what its ID says.
func (c *Channel) original(ctx context.Context, id string) original {
	if o, ok := c.originals.Get(id); ok || id == "" {
		return o
	}
	if strings.HasPrefix(id, "hash-") {
		return original{}
	}
	o := original{messageID: id}
	s, err := c.connect(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "the mail that is answered cannot be looked up", "error", err)
		return o
	}
	defer s.close()
	end := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer end()
	stop := s.within(step)
	found, err := s.client.UIDSearch(&imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: "Message-Id",
		Value: id}}}, nil).Wait()
	stop()
	if err != nil {
		return o
	}
	for _, uid := range found.AllUIDs()[:min(len(found.AllUIDs()), 3)] {
		raw, _, err := s.fetch(uid, imap.PartSpecifierHeader, maxHeader)
		if h, e := readHead(raw); err == nil && e == nil && h.messageID == id {
			o = originalOf(h)
			c.originals.Put(id, o)
			break
		}
	}
	return o
}

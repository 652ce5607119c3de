package email

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-sasl"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// tooMuch is how long nothing is sent when a server says that it was too much. It says no time.
const tooMuch = 5 * time.Minute

// Send sends a mail to the person at To.Chat, whom nobody else can name: a Reply-To is not
// looked at.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	to := strings.TrimPrefix(m.To.Chat, unproven)
	if !validAddress(to) {
		return "", fmt.Errorf("%q is no mail address: %w", printable.Line(to, 100), channel.ErrGone)
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, transfer, errors.New("the mail server takes too long"))
	defer cancel()
	raw, err := c.compose(ctx, m, to)
	if err != nil {
		return "", err
	}
	o, err := c.dialSMTP(ctx)
	if err != nil {
		return "", err
	}
	defer o.quit()
	if err := o.send(c.self.Address, to, raw); err != nil {
		return "", err
	}
	return c.messageID(m), nil
}

// outgoing is a connection that is logged in.
type outgoing struct {
	client *smtp.Client
	end    func() bool
}

// quit ends a connection. What was sent has arrived, whatever the server says now.
func (o *outgoing) quit() {
	if o.client.Quit() != nil {
		_ = o.client.Close() // there is nothing more to say
	}
	o.end()
}

func (c *Channel) dialSMTP(ctx context.Context) (*outgoing, error) {
	conn, err := c.dial(ctx, c.out)
	if err != nil {
		return nil, fmt.Errorf("connecting to the SMTP server: %w", err)
	}
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(transfer)); err != nil {
		_ = conn.Close() // it is of no use
		return nil, err
	}
	client, err := smtp.NewClient(conn, c.out.name)
	if err == nil {
		if err = c.login(client, conn); err == nil {
			return &outgoing{client, end}, nil
		}
	} else {
		err = meaning("connecting to the SMTP server", err, nil)
	}
	end()
	_ = conn.Close() // it is of no use
	return nil, err
}

func (c *Channel) login(client *smtp.Client, conn net.Conn) error {
	if err := client.Hello(literal(conn.LocalAddr())); err != nil {
		return meaning("connecting to the SMTP server", err, nil)
	}
	if !c.out.tls && !c.out.open {
		if err := client.StartTLS(c.tls(c.out)); err != nil {
			return meaning("encrypting the connection to the SMTP server", err, nil)
		}
	}
	if c.config.Password == "" {
		return nil
	}
	_, offered := client.Extension("AUTH")
	ways := strings.Fields(strings.ToUpper(offered))
	var way sasl.Client
	switch {
	case slices.Contains(ways, sasl.Plain):
		way = sasl.NewPlainClient("", c.config.User, c.config.Password)
	case slices.Contains(ways, sasl.Login):
		way = sasl.NewLoginClient(c.config.User, c.config.Password)
	default:
		return fmt.Errorf("logging in to the SMTP server: it takes no password: %w", channel.ErrRefused)
	}
	return meaning("logging in to the SMTP server", client.Auth(auth{way}), channel.ErrRefused)
}

// auth lets net/smtp log in as go-sasl does. The connection is encrypted by then, or
// stays in this machine.
type auth struct{ client sasl.Client }

func (a auth) Start(*smtp.ServerInfo) (string, []byte, error) { return a.client.Start() }

func (a auth) Next(challenge []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	return a.client.Next(challenge)
}

// literal is how a client without a name of its own calls itself.
func literal(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	switch {
	case !ok || tcp.IP == nil:
		return "localhost"
	case tcp.IP.To4() != nil:
		return "[" + tcp.IP.To4().String() + "]"
	}
	return "[IPv6:" + tcp.IP.String() + "]"
}

func (o *outgoing) send(from, to string, raw []byte) error {
	if err := o.client.Mail(from); err != nil {
		return meaning("sending as "+from, err, channel.ErrRefused)
	}
	if err := o.client.Rcpt(to); err != nil {
		return meaning("sending a mail", err, channel.ErrGone)
	}
	w, err := o.client.Data()
	if err != nil {
		return meaning("sending a mail", err, channel.ErrRejected)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("sending a mail: %w", err)
	}
	return meaning("sending a mail", w.Close(), channel.ErrRejected)
}

// The words with which servers say what an answer is about, where their codes do not.
var (
	// limits are about how much we send, and known about how this machine or the account is seen: on a
	// list of senders of spam, or without the records that prove the domain.
	limits = regexp.MustCompile(`(?i)\b(rate|too (many|much|fast)|limit(s|ed)?|exceed(s|ed|ing)?|throttl\w*|` +
		`quota\w*|slow down|\w*QuotaExceeded\w*)\b`)
	known = regexp.MustCompile(`(?i)(spamhaus|spamcop|barracuda|\b(dns|u)?rbl\b|dnsbl|black-?list|block-?list|` +
		`\bblocked\b|client host|\bspf\b|\bdkim\b|\bdmarc\b|reverse dns|\bptr\b|reputation|unauthenticated|` +
		`authentication (is )?required|not authenticated|not authori[sz]ed to (send|relay)|` +
		`relay(ing)? (access )?denied|unable to relay|sender (address )?(rejected|denied|blocked)|` +
		`account (has been |is )?(disabled|suspended|blocked|locked)|outbound spam)`)
	// theirs are about the mailbox or the mail of the recipient, whatever else is said.
	theirs = regexp.MustCompile(`(?i)(mailbox|inbox|recipient|user)('s)? (is |storage |has )?` +
		`(full|over ?quota|out of storage|disabled|unavailable|unknown|exceeded)`)
	size = regexp.MustCompile(`(?i)(message|mail|file|content).{0,20} (size|too (big|large|long))|too large|maximum.{0,20}size`)
)

// senders are codes about who sends: not logged in (7.3, 7.8, 7.57), no right to the address (7.60), a
// sender or machine that Microsoft has blocked (7.501 to 7.750), no proof of the domain (7.26).
var senders = []string{
	"7.3", "7.8", "7.26", "7.57", "7.60", "7.501", "7.502", "7.503", "7.508", "7.509", "7.511", "7.606", "7.703",
	"7.705",
	"7.708", "7.750",
}

// enhanced matches the code of RFC 3463 at the beginning of an answer.
var enhanced = regexp.MustCompile(`^[245]\.(\d{1,3}\.\d{1,3})\b`)

// later is how long nothing is sent when a server says for good that it was too much: it counts by the day.
const later = time.Hour

// meaning says what an answer with an error means. Final is what one means that does not
// change when it is tried again; nil if it may.
func meaning(doing string, err error, final error) error {
	if err == nil {
		return nil
	}
	var said *textproto.Error
	if !errors.As(err, &said) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	told := fmt.Errorf("%s: the server says: %d %s", doing, said.Code, printable.Line(said.Msg, 200))
	code := ""
	if m := enhanced.FindStringSubmatch(said.Msg); m != nil {
		code = m[1]
	}
	full := code == "2.1" || code == "2.2" || theirs.MatchString(said.Msg)
	much := !full && !size.MatchString(said.Msg) && (code == "4.5" || limits.MatchString(said.Msg))
	switch {
	case said.Code < 500 && said.Code != 421 && said.Code != 450 && said.Code != 451 && said.Code != 452:
	case said.Code < 500 && much:
		return &channel.Limited{After: tooMuch, Err: told}
	case said.Code == 530 || said.Code == 534 || said.Code == 535 || said.Code == 538: // log in, or log in otherwise
		return fmt.Errorf("%w: %w", told, channel.ErrRefused)
	case said.Code >= 500 && final != nil && much:
		return &channel.Limited{After: later, Err: told}
	case said.Code >= 500 && final != nil && !full && (known.MatchString(said.Msg) || slices.Contains(senders, code)):
		return fmt.Errorf("%w: %w", told, channel.ErrRefused)
	case said.Code >= 500 && final != nil:
		return fmt.Errorf("%w: %w", told, final)
	}
	return told
}

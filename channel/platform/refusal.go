package platform

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
)

// Failure is an answer of a platform that says no.
type Failure struct {
	Platform, Call string
	Status         int
	// Code and Message are the platform's.
	Code, Message string
	// Means is [channel.ErrRejected], [channel.ErrGone], [channel.ErrRefused] or nil. If it is nil,
	// the table of the platform says.
	Means error
	// Busy means that the platform wants less for a time, as the status 429 does, and After
	// for how long. 0 means what the header Retry-After says. Scope is what that is about; 0 means
	// what the table says.
	Busy  bool
	After time.Duration
	Scope channel.Scope
	// Away means that the platform itself has not answered, or cannot now, whatever the status.
	Away bool
}

func (f *Failure) Error() string {
	status := strconv.Itoa(f.Status)
	text := f.Platform + ": " + f.Call
	if f.Status != http.StatusOK {
		text += ": status " + status
	}
	for _, more := range []string{f.Code, f.Message} {
		if more != "" && more != status {
			text += ": " + more
		}
	}
	return text
}

// Unwrap says what the answer means for replies.
func (f *Failure) Unwrap() error { return f.Means }

// Fails reports whether err is an answer with one of these codes.
func Fails(err error, codes ...string) bool {
	var f *Failure
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}

// Means gives an answer with one of these codes another meaning than the table of its platform.
func Means(err, what error, codes ...string) error {
	var f *Failure
	if errors.As(err, &f) && slices.Contains(codes, f.Code) {
		f.Means = what
	}
	return err
}

// Refusals are the codes with which a platform says no, by what they are about. Any other code is
// about the one message, unless the status is one of an internal error.
type Refusals struct {
	// Gone are about the chat or the person there, and so are messages with one of Says, in
	// lower case, where the platform has few codes.
	Gone, Says []string
	// Rejected are about the message, although messages with one of Says may have them.
	Rejected []string
	// Refused are about the account.
	Refused []string
	// Busy and Away are about the moment: the platform wants less, or has a fault.
	Busy, Away []string
	// Limits are what the platform counts when it wants less, and Kinds the codes of Busy that are
	// about requests of a kind.
	Limits channel.Scope
	Kinds  []string
}

// mean says what a failure means, unless that is known.
func (r *Refusals) mean(f *Failure) {
	f.Busy = f.Busy || f.Status == http.StatusTooManyRequests || slices.Contains(r.Busy, f.Code)
	if f.Scope = cmp.Or(f.Scope, r.Limits); slices.Contains(r.Kinds, f.Code) {
		f.Scope = channel.OneKind
	}
	later := []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusMisdirectedRequest,
		http.StatusProxyAuthRequired}
	switch {
	case f.Means != nil, f.Busy, f.Away:
	case slices.Contains(r.Refused, f.Code):
		f.Means = channel.ErrRefused
	case slices.Contains(r.Away, f.Code):
	case !slices.Contains(r.Rejected, f.Code) && (slices.Contains(r.Gone, f.Code) || Says(f, r.Says...)):
		f.Means = channel.ErrGone
	case f.Status < 300 || f.Status >= 400 && f.Status < 500 && !slices.Contains(later, f.Status):
		f.Means = channel.ErrRejected
	}
}

// Says reports whether err is an answer whose message has one of these texts, in lower case.
func Says(err error, texts ...string) bool {
	var f *Failure
	return errors.As(err, &f) && slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(f.Message), text)
	})
}

// maxWait is the longest time that a header may ask to wait.
const maxWait = time.Hour

// usualWait is the time to wait if the platform wants less and names no time.
const usualWait = 5 * time.Second

// refusal returns the error that an answer is.
func (c *Client) refusal(r Request, answer *Answer) error {
	var f *Failure
	if c.config.Refusal != nil && !r.Raw {
		f = c.config.Refusal(answer)
	} else if answer.Status < 200 || answer.Status > 299 {
		f = &Failure{}
	}
	if f == nil {
		return nil
	}
	f.Platform, f.Call, f.Status, f.Code = c.config.Name, r.name(), answer.Status, Word(f.Code)
	if c.config.Secret != "" {
		f.Message = strings.ReplaceAll(f.Message, c.config.Secret, "…")
	}
	err := Fail(*f, c.config.Refusals)
	var limited *channel.Limited
	if f.After == 0 && errors.As(err, &limited) {
		if after, ok := RetryAfter(answer.Header.Get("Retry-After")); ok {
			limited.After = after
		}
	}
	return err
}

// Fail returns the error that an answer is by the codes of its platform, also of one that came otherwise
// than over HTTP.
func Fail(f Failure, codes Refusals) error {
	f.Message = printable.Line(f.Message, 300)
	codes.mean(&f)
	if !f.Busy {
		return &f
	}
	return &channel.Limited{After: cmp.Or(f.After, usualWait), Scope: f.Scope, Err: &f}
}

// RetryAfter reads a number of seconds or a date, at most an hour away.
func RetryAfter(s string) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= math.MaxInt64 { // it is a mistake
		return 0, false
	}
	wait, ok := sleep.RetryAfter(s, time.Now())
	return min(wait, maxWait), ok
}

// Seconds is a number of seconds, at most an hour; 0 if it is negative or no number.
func Seconds(n float64) time.Duration {
	if math.IsNaN(n) || n < 0 {
		return 0
	}
	return time.Duration(min(n, maxWait.Seconds()) * float64(time.Second))
}

package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// writer sends texts and files to a chat of an account, a text in as many messages as it takes. It
// sends each part of a letter once, however often the letter is tried.
type writer struct {
	channel Channel
	traits  Traits
	file    func(ctx context.Context, sha256 string) (chat.File, error) // with its bytes
	sent    *recent.Cache[string, bool]                                 // parts of letters, by key
	failed  *recent.Cache[string, int]                                  // how often each has failed in a row
}

// writeText sends a text in as many messages as it takes.
func (w *writer) writeText(ctx context.Context, to Address, language, text string, buttons []Button, key string) error {
	return w.writeParts(ctx, to, markup.Split(text, w.traits.room(language)), 0, buttons, key)
}

// writeParts sends the parts of a text from the first one on, each once for a key of a letter.
func (w *writer) writeParts(ctx context.Context, to Address, parts []string, first int, buttons []Button,
	key string) error {
	for i := first; i < len(parts); i++ {
		m := Outgoing{To: to, Text: parts[i], Key: key}
		if i > 0 {
			m.Key = fmt.Sprintf("%s-%d", key, i)
			m.To.Message = ""
		}
		if i == len(parts)-1 {
			m.Buttons = buttons
		}
		if w.wasSent(m.Key) {
			continue
		}
		if err := w.send(ctx, m); err != nil {
			return err
		}
		if strings.HasPrefix(key, letterKey) {
			w.sent.Put(m.Key, true)
		}
	}
	return nil
}

// stubborn is how often a message fails before other forms are tried although the platform says that it may
// work later: some answer so to a message that they cannot read.
const stubborn = 4

// minCut is how long a text is at least that is sent in parts because it was not taken whole.
const minCut = 400

// send sends a message, and if the platform does not take it, in other forms: without what it answers,
// outside of the thread, without markup, in shorter parts, as a file. An error is the first one then.
func (w *writer) send(ctx context.Context, m Outgoing) error {
	_, first := w.channel.Send(ctx, m)
	fails := func(err error) bool { return refused(err) }
	if m.Key != "" && momentary(first) {
		n, _ := w.failed.Get(m.Key)
		if w.failed.Put(m.Key, n+1); n+1 >= stubborn {
			fails = func(err error) bool { return refused(err) || momentary(err) }
		}
	}
	if tried := m.Key + "~"; !fails(first) || m.Key != "" && !w.sent.Add(tried, true) {
		return first // all forms were tried before
	}
	unthreaded, plain := m, m
	unthreaded.To.Message, unthreaded.To.Thread = "", ""
	plain.Plain, plain.Buttons, plain.To.Message = true, nil, ""
	unquoted := m
	unquoted.To.Message = ""
	forms := [][]Outgoing{}
	if m.To.Message != "" {
		forms = append(forms, []Outgoing{unquoted})
	}
	if m.To.Thread != "" {
		forms = append(forms, []Outgoing{unthreaded})
	}
	if m.Text != "" {
		forms = append(forms, []Outgoing{plain})
		short := w.traits.room(phrase.English) // the code in it is short by now
		if n := short.Measure(m.Text); n > minCut {
			parts := []Outgoing{}
			short.Max = max(minCut, min(cmp.Or(w.traits.MaxText, n), n)/4)
			for _, text := range markup.Split(m.Text, short) {
				part := plain
				part.Text = text
				parts = append(parts, part)
			}
			forms = append(forms, parts)
		}
		if int64(len(m.Text)) <= w.traits.MaxFile {
			file := chat.File{Name: "reply.md", MediaType: "text/markdown", Data: []byte(m.Text), Size: len(m.Text)}
			forms = append(forms, []Outgoing{{To: plain.To, Files: []chat.File{file}, Key: m.Key}})
		}
	}
	err := first
	for i, form := range forms {
		outside := form[0].To.Thread != m.To.Thread
		if !fails(err) || errors.Is(first, ErrGone) && !outside { // what is gone may be the thread
			continue
		}
		for n, part := range form {
			if m.Key != "" {
				part.Key = fmt.Sprintf("%s~%d.%d", m.Key, i, n)
			}
			if _, err = w.channel.Send(ctx, part); err != nil {
				break
			}
		}
	}
	if fails(err) {
		return first
	}
	return err
}

// refused reports whether an error is for good, for a message or for a chat.
func refused(err error) bool { return errors.Is(err, ErrRejected) || errors.Is(err, ErrGone) }

// tellLost tells the person, once, that a reply cannot be shown.
func (w *writer) tellLost(ctx context.Context, to Address, l outbox.Letter) error {
	text := phrase.In(l.Language, "There is a reply for you here that cannot be shown: it was refused or came too late. "+
		"Whoever runs this service can read it.")
	if len(l.Awaits) > 0 {
		text = phrase.In(l.Language, "Something here needs your answer (%s) and cannot be shown: it was refused or came too late. "+
			"Whoever runs this service can read it and decide.", l.Awaits[0].ID)
	}
	return w.writeText(ctx, to, l.Language, text, nil, fmt.Sprint(letterKey, l.ID, "-lost"))
}

// readFiles returns the files of a letter with their bytes, and a line for each that cannot be
// sent.
func (w *writer) readFiles(ctx context.Context, l outbox.Letter) (files []chat.File, missing string, err error) {
	for _, f := range l.Files {
		why := ""
		switch {
		case w.traits.MaxFile == 0:
			why = phrase.In(l.Language, "files cannot be sent here")
		case int64(f.Size) > w.traits.MaxFile:
			why = phrase.In(l.Language, "it has %d kB, and at most %d kB can be sent here", (f.Size+999)/1000,
				w.traits.MaxFile/1000)
		case l.Tries > patience && !w.wasSent(fileKey(l, f)):
			why = phrase.In(l.Language, "it could not be sent")
		default:
			kept, err := w.file(ctx, f.SHA256)
			if errors.Is(err, session.ErrNoFile) || errors.Is(err, engine.ErrUnknown) {
				why = phrase.In(l.Language, "it is no longer kept")
				break
			}
			if err != nil {
				return nil, "", err
			}
			f.Data = kept.Data
			files = append(files, f)
			continue
		}
		missing += fmt.Sprintf("[%s: %s]\n", printable.OneLine(f.Name), why)
	}
	return files, missing, nil
}

// writeFiles sends the files of a letter, each in a message of its own and once, however often
// the letter is tried.
func (w *writer) writeFiles(ctx context.Context, to Address, l outbox.Letter) error {
	files, missing, err := w.readFiles(ctx, l)
	if err != nil {
		return err
	}
	to.Message = ""
	for _, f := range files {
		key := fileKey(l, f)
		if w.wasSent(key) {
			continue
		}
		err := w.send(ctx, Outgoing{To: to, Files: []chat.File{f}, Key: key})
		if errors.Is(err, ErrRejected) {
			missing += fmt.Sprintf("[%s: %s]\n", printable.OneLine(f.Name),
				phrase.In(l.Language, "it could not be sent"))
		} else if err != nil {
			return fmt.Errorf("the file %s: %w", printable.OneLine(f.Name), err)
		}
		w.sent.Put(key, true)
	}
	if missing == "" {
		return nil
	}
	return w.writeText(ctx, to, l.Language, missing, nil, fmt.Sprint(letterKey, l.ID, "-missing"))
}

func (w *writer) wasSent(key string) bool {
	_, ok := w.sent.Get(key)
	return ok
}

func fileKey(l outbox.Letter, f chat.File) string {
	return fmt.Sprintf("%s%d-%s", letterKey, l.ID, f.SHA256[:min(len(f.SHA256), 16)])
}

// patience is how often a file is tried before the reply says that it could not be sent.
const patience = 3

package channel

import (
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
	"github.com/etui-run/etui/session"
)

// writer sends texts and files to a chat of an account, a text in as many messages as it takes. It
// sends each part of a letter once, however often the letter is tried.
type writer struct {
	channel Channel
	traits  Traits
	file    func(ctx context.Context, sha256 string) (chat.File, error) // with its bytes
	sent    *recent.Cache[string, bool]                                 // parts of letters, by key
}

// writeText sends a text in as many messages as it takes.
func (w *writer) writeText(ctx context.Context, to Address, text string, buttons []Button, key string) error {
	return w.writeParts(ctx, to, markup.Split(text, w.traits.room()), 0, buttons, key)
}

// writeParts sends the parts of a text from the first one on, each once for a key of a letter.
func (w *writer) writeParts(ctx context.Context, to Address, parts []string, first int, buttons []Button, key string) error {
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
		if _, err := w.channel.Send(ctx, m); err != nil {
			return err
		}
		if strings.HasPrefix(key, letterKey) {
			w.sent.Put(m.Key, true)
		}
	}
	return nil
}

// readFiles returns the files of a letter with their bytes, and a line for each that cannot be
// sent.
func (w *writer) readFiles(ctx context.Context, l outbox.Letter) (files []chat.File, missing string, err error) {
	for _, f := range l.Files {
		why := ""
		switch {
		case w.traits.MaxFile == 0:
			why = "files cannot be sent here"
		case int64(f.Size) > w.traits.MaxFile:
			why = fmt.Sprintf("it has %d kB, and at most %d kB can be sent here", (f.Size+999)/1000, w.traits.MaxFile/1000)
		case l.Tries > patience && !w.wasSent(fileKey(l, f)):
			why = "it could not be sent"
		default:
			kept, err := w.file(ctx, f.SHA256)
			if errors.Is(err, session.ErrNoFile) || errors.Is(err, engine.ErrUnknown) {
				why = "it is no longer kept"
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
		if _, err := w.channel.Send(ctx, Outgoing{To: to, Files: []chat.File{f}, Key: key}); err != nil {
			return fmt.Errorf("the file %s: %w", printable.OneLine(f.Name), err)
		}
		w.sent.Put(key, true)
	}
	if missing == "" {
		return nil
	}
	return w.writeText(ctx, to, missing, nil, fmt.Sprint(letterKey, l.ID, "-missing"))
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

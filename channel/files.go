package channel

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/session"
)

// patience is how often a file is tried before the reply says that it could not be sent.
const patience = 3

// files returns the files of a letter with their bytes, and a line for each that cannot be
// sent.
func (a *account) files(ctx context.Context, l engine.Letter) (files []chat.File, missing string, err error) {
	for _, f := range l.Files {
		why := ""
		switch {
		case a.traits.MaxFile == 0:
			why = "files cannot be sent here"
		case int64(f.Size) > a.traits.MaxFile:
			why = fmt.Sprintf("it has %d kB, and at most %d kB can be sent here", (f.Size+999)/1000, a.traits.MaxFile/1000)
		case l.Tries > patience && !a.wasSent(fileKey(l, f)):
			why = "it could not be sent"
		default:
			kept, err := a.engine.File(ctx, f.SHA256)
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

// sendFiles sends the files of a letter, each in a message of its own and once, however often
// the letter is tried.
func (a *account) sendFiles(ctx context.Context, to Address, l engine.Letter) error {
	files, missing, err := a.files(ctx, l)
	if err != nil {
		return err
	}
	to.Message = ""
	for _, f := range files {
		key := fileKey(l, f)
		if a.wasSent(key) {
			continue
		}
		if _, err := a.Channel.Send(ctx, Outgoing{To: to, Files: []chat.File{f}, Key: key}); err != nil {
			return fmt.Errorf("the file %s: %w", printable.OneLine(f.Name), err)
		}
		a.sent.Put(key, true)
	}
	if missing == "" {
		return nil
	}
	return a.say(ctx, to, missing, nil, fmt.Sprint(letterKey, l.ID, "-missing"))
}

func (a *account) wasSent(key string) bool {
	_, ok := a.sent.Get(key)
	return ok
}

func fileKey(l engine.Letter, f chat.File) string {
	return fmt.Sprintf("%s%d-%s", letterKey, l.ID, f.SHA256[:min(len(f.SHA256), 16)])
}

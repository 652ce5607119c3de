package conversation

import (
	"fmt"
	"io"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

// reply prints the events of a turn.
type reply struct {
	*terminal.Console
	text     io.WriteCloser // the part of the answer that is being printed; nil between parts
	fresh    bool           // the text ended a line
	progress string
	switches int  // of the phase of a run that is told afterwards, which were printed
	live     bool // the run's own events were printed
	calls    []fold
	waiting  []session.Await // calls that people decide about
}

// show prints one event.
func (r *reply) show(e api.Event) {
	if e.Result != nil {
		r.finish(*e.Result)
	}
	switch {
	case e.Selected != nil:
		r.note("· %d of %d tools sent, %d tokens (%.0f %% saved)", e.Selected.Sent, e.Selected.All,
			e.Selected.TokensSent+e.Selected.TokensMeta, e.Selected.SavedPercent)
	case e.Phase != nil:
		r.phase(*e.Phase)
	case e.Text != "":
		if r.text == nil {
			r.text = r.answer()
		}
		_, _ = io.WriteString(r.text, e.Text) // a terminal that cannot be written to cannot be told
		r.fresh = strings.HasSuffix(e.Text, "\n")
	case e.Call != nil:
		r.fold(*e.Call)
	case e.Progress != nil && e.Progress.Total > 0:
		if now := fmt.Sprintf("· %s %.0f %%", e.Progress.Text,
			100*e.Progress.Done/e.Progress.Total); now != r.progress {
			r.progress = now
			r.note("%s", now)
		}
	case e.Await != nil:
		r.await(*e.Await)
	case e.Result != nil && e.Result.Failed:
		r.note("· ✗ %s", printable.Line(e.Result.Text, maxFailure))
	case e.Result != nil && e.Result.View != nil:
		if e.Result.View.Text != "" {
			r.note("%s", e.Result.View.Text)
		}
		for _, f := range e.Result.View.Files {
			r.note("· file %s (%d bytes)", f.Name, len(f.Data))
		}
	}
}

// answer returns a writer of one part of an answer: readable on a terminal, else as it is.
func (r *reply) answer() io.WriteCloser {
	if r.OnTerminal() {
		return terminal.NewMarkdown(r.Out, terminal.Width(), terminal.Plain())
	}
	return asItIs{r.Out}
}

type asItIs struct{ io.Writer }

func (asItIs) Close() error { return nil }

// note prints what is not part of the answer.
func (r *reply) note(format string, args ...any) {
	r.end()
	r.Note(format, args...)
}

// end ends the part of the answer that is being printed, and its line.
func (r *reply) end() {
	if r.text == nil {
		return
	}
	_ = r.text.Close()
	if _, raw := r.text.(asItIs); raw && !r.fresh {
		fmt.Fprintln(r.Out)
	}
	r.text = nil
}

// maxFailure is how many characters of a failed call's result are shown.
const maxFailure = 200

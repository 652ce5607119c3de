// Package pdf reads the text of PDFs, for models that take none. Strangers write them, so PDFium
// runs as WebAssembly: it has no files, no network and no clock, a limit of memory and a limit of
// time. It knows the fonts and charsets of Chinese, Japanese and Korean documents. It does not read
// pictures: a scanned document has no text.
package pdf

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/internal/sleep"
)

const (
	// MaxText is how many bytes of text are read; the rest of the document is left out.
	MaxText = 64 << 10
	// maxPages is how many pages are read, and maxTime how long reading may take.
	maxPages, maxTime = 2000, 20 * time.Second
	// share is how long it may take while others wait, and maxWait how long those do.
	share, maxWait = 5 * time.Second, 30 * time.Second
	// maxMemory is how much memory PDFium may use for a document. Beside that, it takes about 130 MiB and
	// half a second to start, so it goes on running for a while.
	maxMemory, rests = 256 << 20, 30 * time.Second
	// kept is how many texts are kept: each request to a model has the whole conversation.
	kept = 64
)

// Errors of documents that have no text to read.
var (
	ErrLocked  = errors.New("it is encrypted, and opens with a password only")
	ErrScanned = errors.New("it has no text, only pictures, as scanned documents do")
	ErrBroken  = errors.New("it is broken, or no PDF")
	ErrLimit   = errors.New("reading it takes too much time or memory")
	ErrBusy    = errors.New("too many documents are being read; send it again later")
)

// Reader reads PDFs, one at a time. It is safe for concurrent use.
type Reader struct {
	most  time.Duration // for a document
	share time.Duration // for one while others wait
	wait  time.Duration // for the turn
	turn  chan struct{} // taken by the one that uses pdfium
	texts *recent.Cache[[sha256.Size]byte, answer]
	queue atomic.Int32 // how many wait

	pdfium *process // nil while it does not run
	rest   *time.Timer
}

// process is a running PDFium. End stops it, also while it reads.
type process struct {
	pool pdfium.Pool
	end  context.CancelFunc
}

type answer struct {
	text string
	err  error
}

// New returns a Reader.
func New() *Reader {
	return &Reader{most: maxTime, share: share, wait: maxWait, turn: make(chan struct{}, 1),
		texts: recent.New[[sha256.Size]byte, answer](kept)}
}

// Text returns the text of a document, and says in its last line what it has left out. The error
// wraps one of the errors of this package, or that of the context.
func (r *Reader) Text(ctx context.Context, data []byte) (string, error) {
	key := sha256.Sum256(data)
	if known, ok := r.texts.Get(key); ok {
		return known.text, known.err
	}
	if err := r.enter(ctx); err != nil {
		return "", err
	}
	defer func() { <-r.turn }()
	if known, ok := r.texts.Get(key); ok { // another request has read it meanwhile
		return known.text, known.err
	}
	text, err := r.read(ctx, data)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	r.texts.Add(key, answer{text, err})
	return text, err
}

// enter waits for the turn of a document.
func (r *Reader) enter(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}: // a free one is taken, however long others would wait
		return nil
	default:
	}
	r.queue.Add(1)
	defer r.queue.Add(-1)
	late := time.NewTimer(r.wait)
	defer late.Stop()
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-late.C:
		return ErrBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield ends the reading of a document once it has had its share and others wait, until ctx ends.
func (r *Reader) yield(ctx context.Context, end func()) {
	for ctx.Err() == nil {
		sleep.For(ctx, r.share)
		if r.queue.Load() > 0 {
			end()
		}
	}
}

func (r *Reader) read(ctx context.Context, data []byte) (text string, err error) {
	ctx, done := context.WithTimeout(ctx, r.most)
	defer done()
	go func() {
		defer panics.Log(nil, "watching the reading of a PDF")
		r.yield(ctx, done)
	}()
	if r.rest != nil {
		r.rest.Stop()
	}
	err = panics.Try(nil, "reading a PDF", func() error {
		if r.pdfium == nil {
			if r.pdfium, err = start(); err != nil {
				return fmt.Errorf("starting PDFium: %w", err)
			}
		}
		late := context.AfterFunc(ctx, r.pdfium.end)
		defer late()
		p, err := r.pdfium.pool.GetInstanceWithContext(ctx) // with memory of its own
		if err != nil {
			return err
		}
		defer func() { _ = p.Close() }() // it has nothing to save
		text, err = pages(p, data)
		return err
	})
	if ctx.Err() != nil && text == "" {
		err = ErrLimit
	}
	if ctx.Err() != nil {
		r.stop()
	} else {
		r.rest = time.AfterFunc(rests, r.idle)
	}
	return text, err
}

// start starts PDFium.
func start() (_ *process, err error) {
	const page = 64 << 10
	// An interpreter: compiling PDFium to machine code takes many seconds.
	config := wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(maxMemory / page).WithCloseOnContextDone(true).WithDebugInfoEnabled(false)
	var r process
	ctx, end := context.WithCancel(context.Background()) // it outlives the request that needs it first
	r.end = end
	if r.pool, err = webassembly.Init(webassembly.Config{
		Context: ctx, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(),
		Stdout: io.Discard, Stderr: io.Discard,
	}); err != nil {
		end()
		return nil, err
	}
	return &r, nil
}

// idle stops PDFium unless it has something to read.
func (r *Reader) idle() {
	select {
	case r.turn <- struct{}{}:
		r.stop()
		<-r.turn
	default:
	}
}

func (r *Reader) stop() {
	if r.pdfium != nil {
		r.pdfium.end()
		_ = r.pdfium.pool.Close() // it has nothing to save
		r.pdfium = nil
	}
}

// pages returns the text of a document's pages, as far as the limits let it.
func pages(p pdfium.Pdfium, data []byte) (string, error) {
	opened, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferrors.ErrPassword) || errors.Is(err, pdferrors.ErrSecurity):
		return "", ErrLocked
	case err != nil:
		return "", ErrBroken
	}
	counted, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return "", ErrBroken
	}
	var out strings.Builder
	n := 0
	for ; n < min(counted.PageCount, maxPages) && out.Len() < MaxText && err == nil; n++ {
		var page *responses.GetPageText
		at := requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: n}}
		if page, err = p.GetPageText(&requests.GetPageText{Page: at}); err != nil {
			break
		}
		text := strings.TrimSpace(printable.Text(strings.ReplaceAll(page.Text, "\r\n", "\n")))
		if text != "" && counted.PageCount > 1 {
			fmt.Fprintf(&out, "\n\n[page %d]\n", n+1)
		}
		out.WriteString(text)
	}
	text := strings.TrimSpace(out.String())
	switch {
	case text == "" && err != nil:
		return "", ErrBroken
	case text == "":
		return "", ErrScanned
	case len(text) > MaxText:
		text = strings.ToValidUTF8(text[:MaxText], "")
	case n == counted.PageCount:
		return text, nil
	}
	return fmt.Sprintf("%s\n[… the rest is left out: %d of %d pages were read …]", text, n, counted.PageCount), nil
}

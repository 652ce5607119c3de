//go:build !race

// The race detector makes an interpreter of WebAssembly ten times slower: make test runs these tests without it.

package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/internal/pdf"
)

func TestText(t *testing.T) {
	t.Parallel()
	r := pdf.Patient()
	for _, c := range []struct {
		name string
		want []string
		err  error
	}{
		{"plain", []string{"Quarterly report", "Revenue rose by 12 % to 4.2 million euros.", "Apples 3.50\nPears 4.20"}, nil},
		{"cid", []string{"合同编号：第42号\n甲方应于三十日内付款。"}, nil},
		{"identity", []string{"发票金额：1,280.00 元", "请在收到发票后七个工作日内付款。Thank you"}, nil},
		{"chromium", []string{"会议纪要 Meeting notes", "第一项：预算 budget of 2026 — \"approved\" é ü ß", "张三 500\n李四 600"}, nil},
		{"owner", []string{"only the owner may print"}, nil},
		{"locked", nil, pdf.ErrLocked},
		{"scan", nil, pdf.ErrScanned},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", c.name+".pdf"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.Text(t.Context(), data)
		if !errors.Is(err, c.err) || err == nil && strings.ContainsAny(text, "\r\x00") {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %q", c.name, want, text)
			}
		}
	}
}

// TestLimits: long documents leave their end out and say so, and hostile ones are given up.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := pdf.Patient()
	var long []string
	for i := range 60 {
		long = append(long, fmt.Sprintf("BT /F 9 Tf 10 700 Td (page number %d %s) Tj ET", i+1, strings.Repeat("many words ", 150)))
	}
	text, err := r.Text(t.Context(), document(long...))
	if err != nil || !strings.HasPrefix(text, "[page 1]\npage number 1 many") || !strings.Contains(text, " of 60 pages were read …]") || len(text) > pdf.MaxText+200 {
		t.Errorf("%d bytes, %v: %.100q", len(text), err, text)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":     {nil, pdf.ErrBroken},
		"no PDF":    {[]byte("%PDF-1.7\nhello"), pdf.ErrBroken},
		"cut":       {document("BT /F 9 Tf (a) Tj ET")[:200], pdf.ErrBroken},
		"a cycle":   {bytes.Replace(document("q"), []byte("/Kids [4 0 R ]"), []byte("/Kids [2 0 R ]"), 1), nil},
		"no text":   {document("q Q"), pdf.ErrScanned},
		"much text": {document("BT /F 9 Tf " + strings.Repeat("(many many words) Tj ", 400) + "ET"), nil},
		"a bomb":    {document(strings.Repeat(" ", 1<<20)), pdf.ErrScanned},
	} {
		text, err := r.Text(t.Context(), c.data)
		if c.want != nil && !errors.Is(err, c.want) || len(text) > pdf.MaxText+200 {
			t.Errorf("%s: %.80q, %v", name, text, err)
		}
	}
}

// TestOneAtATime: requests for the same document wait for each other, and leave when their
// time is over.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	r := pdf.Patient()
	data := document("BT /F 9 Tf 10 700 Td (hello) Tj ET")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if text, err := r.Text(t.Context(), data); err != nil || text != "hello" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	all.Wait()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Text(ctx, document("q")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	hasty := pdf.Hasty()
	for range 2 { // the second time it is known
		if _, err := hasty.Text(t.Context(), data); !errors.Is(err, pdf.ErrLimit) {
			t.Error(err)
		}
	}
}

// TestSlow: a document that takes for ever ends when others wait, and they do not wait for ever either.
func TestSlow(t *testing.T) {
	t.Parallel()
	hello := func(i int) []byte { return fmt.Appendf(document("BT /F 9 Tf 10 700 Td (hello) Tj ET"), "\n%% %d", i) }
	ends := func(ctx context.Context, r *pdf.Reader, want error) (wait func()) {
		done := make(chan error)
		go func() {
			_, err := r.Text(ctx, slow())
			done <- err
		}()
		return func() {
			if err := <-done; !errors.Is(err, want) {
				t.Errorf("the slow one: %v", err)
			}
		}
	}
	fair := pdf.Fair()
	wait := ends(t.Context(), fair, pdf.ErrLimit)
	for !fair.Reads() {
		time.Sleep(time.Millisecond)
	}
	if text, err := fair.Text(t.Context(), hello(0)); text != "hello" {
		t.Errorf("behind it: %q, %v", text, err)
	}
	wait()
	crowded := pdf.Crowded()
	ctx, stop := context.WithCancel(t.Context())
	wait = ends(ctx, crowded, context.Canceled)
	for !crowded.Reads() {
		time.Sleep(time.Millisecond)
	}
	if text, err := crowded.Text(t.Context(), hello(1)); !errors.Is(err, pdf.ErrBusy) {
		t.Errorf("behind it: %q, %v", text, err)
	}
	stop()
	wait()
}

// slow writes a small PDF that takes hours: each form draws the next one ten times. PDFium finds the
// objects without a table of them.
func slow() []byte {
	const levels, form = 12, "%d 0 obj\n<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length 60>>stream\n%s\nendstream\nendobj\n"
	out := bytes.NewBufferString("%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Count 1/Kids[3 0 R]>>\nendobj\n" +
		"3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</XObject<</X 5 0 R>>>>/Contents 4 0 R>>\nendobj\n" +
		"4 0 obj\n<</Length 5>>stream\n/X Do\nendstream\nendobj\n")
	for i := range levels {
		fmt.Fprintf(out, form, 5+i, 6+i, strings.Repeat("/X Do ", 10))
	}
	fmt.Fprintf(out, form, 5+levels, 1, strings.Repeat("0 0 m ", 10))
	out.WriteString("trailer<</Size 20/Root 1 0 R>>\n%%EOF")
	return out.Bytes()
}

// document writes a PDF with pages of the given contents.
func document(contents ...string) []byte {
	var out bytes.Buffer
	var at []int
	object := func(format string, args ...any) {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, args...)...)
	}
	out.WriteString("%PDF-1.7\n")
	var kids strings.Builder
	for i := range contents {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Count %d/Kids [%s]>>", len(contents), kids.String())
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, content := range contents {
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>", 5+2*i)
		var packed bytes.Buffer
		w, _ := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
		_, _ = w.Write([]byte(content))
		_ = w.Close()
		object("<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream", packed.Len(), packed.String())
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&out, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF", len(at)+1, start)
	return out.Bytes()
}

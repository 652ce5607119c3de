package openai_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/tool"
)

// png is a picture of one red pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

func imagePart(url string) string {
	return fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q,"detail":"low"}}`, url)
}

func filePart(mediaType, text string) string {
	return fmt.Sprintf(`{"type":"file","file":{"filename":"notes.txt","file_data":%q}}`, "data:"+mediaType+";base64,"+base64.StdEncoding.EncodeToString([]byte(text)))
}

// TestPictures: pictures reach the model, those of earlier messages too, whether the
// client or the gateway keeps the conversation.
func TestPictures(t *testing.T) {
	url := "data:image/jpeg;base64," + png // the bytes count, not what the client says
	look := `{"role":"user","content":[{"type":"text","text":"look"},` + imagePart(url) + `]}`
	for name, c := range map[string]struct {
		second string
		header []string
	}{
		"the client's conversation":  {look + `,{"role":"assistant","content":"red"},{"role":"user","content":"sure?"}`, nil},
		"the gateway's conversation": {`{"role":"user","content":"sure?"}`, []string{"X-Etui-Session", "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, m := newAPI(t, fake.Step{Text: "red"}, fake.Step{Text: "sure"})
			for _, messages := range []string{look, c.second} {
				if status, body := complete(a, `{"model":"main","messages":[`+messages+`]}`, c.header...); status != 200 {
					t.Fatalf("%d %s", status, body)
				}
			}
			for i, r := range m.Requests() {
				files := r.Messages[0].Files
				if len(files) != 1 {
					t.Fatalf("request %d has %d pictures", i+1, len(files))
				}
				if got := base64.StdEncoding.EncodeToString(files[0].Data); got != png {
					t.Errorf("request %d shows %q", i+1, got)
				}
				if files[0].MediaType != "image/png" {
					t.Errorf("request %d says %s", i+1, files[0].MediaType)
				}
				if r.Messages[0].Text != "look" {
					t.Errorf("request %d has the text %q", i+1, r.Messages[0].Text)
				}
			}
		})
	}
}

// TestTextFiles: a file of text is read as a part of the message.
func TestTextFiles(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "ok"})
	if status, body := complete(a, `{"model":"main","messages":[{"role":"user","content":[{"type":"text","text":"read"},`+filePart("text/csv; charset=utf-8", "a,b\n")+`]}]}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if got, want := m.Requests()[0].Messages[0].Text, "read\n\n[file \"notes.txt\"]\na,b\n[end of the file]\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPDFs: a PDF reaches the model with its name.
func TestPDFs(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "ok"})
	if status, body := complete(a, `{"model":"main","messages":[{"role":"user","content":[`+filePart("application/pdf", "%PDF-1.7 x")+`]}]}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	files := m.Requests()[0].Messages[0].Files
	if len(files) != 1 {
		t.Fatalf("the model gets %d files", len(files))
	}
	if files[0].MediaType != chat.PDF {
		t.Errorf("the type is %s", files[0].MediaType)
	}
	if files[0].Name != "notes.txt" {
		t.Errorf("the name is %s", files[0].Name)
	}
	if got := string(files[0].Data); got != "%PDF-1.7 x" {
		t.Errorf("the bytes are %q", got)
	}
}

func TestRefusedParts(t *testing.T) {
	picture := imagePart("data:image/png;base64," + png)
	for name, c := range map[string]struct{ role, part, says string }{
		"another address":         {"user", imagePart("ftp://example.com/a.png"), "it must be a URL such as data:"},
		"no base64":               {"user", imagePart("data:image/png;base64,%%"), "not base64"},
		"no picture":              {"user", imagePart("data:image/png;base64,aGk="), "picture 1 is not a PNG, JPEG, GIF or WebP picture"},
		"a damaged picture":       {"user", imagePart("data:image/png;base64," + png[:20]), "picture 1 is a damaged picture"},
		"too many":                {"user", strings.Join(slices.Repeat([]string{picture}, 9), ","), "it has 9 pictures and PDFs, at most 8 are accepted"},
		"in an assistant's words": {"assistant", picture, `not supported in a message of role \"assistant\"`},
		"a PDF that is none":      {"user", filePart("application/pdf", "hello"), "it does not begin with %PDF-"},
		"a spreadsheet":           {"user", filePart("application/vnd.ms-excel", "x"), `files of type \"application/vnd.ms-excel\" are not supported, only text and PDF`},
		"text that is none":       {"user", filePart("text/plain", "\xff\xfe"), "not text in UTF-8"},
		"an uploaded file":        {"user", `{"type":"file","file":{"file_id":"file-1"}}`, "send file_data instead of file_id"},
		"sound":                   {"user", `{"type":"input_audio"}`, `parts of type \"input_audio\" are not supported`},
		"sound that is none":      {"user", `{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}`, "picture 1 is not a PNG"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAPI(t)
			status, body := complete(a, fmt.Sprintf(`{"model":"main","messages":[{"role":%q,"content":[%s]},{"role":"user","content":"hi"}]}`, c.role, c.part))
			if status != 400 {
				t.Errorf("status %d", status)
			}
			if !strings.Contains(body, c.says) {
				t.Errorf("%s does not say %s", body, c.says)
			}
			if !strings.Contains(body, `"param":"messages[0].content"`) {
				t.Errorf("%s does not name the field", body)
			}
		})
	}
}

// TestSound: sound reaches the model, whatever the client calls its format.
func TestSound(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "a bell"}, fake.Step{Text: "a bell"})
	for sound, want := range map[string]string{"RIFF\x24\x00\x00\x00WAVEfmt ": chat.WAV, "\xff\xfb\x90\x00": chat.MP3} {
		part := `{"type":"input_audio","input_audio":{"data":"` + base64.StdEncoding.EncodeToString([]byte(sound)) + `","format":"wav"}}`
		if status, body := complete(a, `{"model":"main","messages":[{"role":"user","content":[`+part+`]}]}`); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		requests := m.Requests()
		if files := requests[len(requests)-1].Messages[0].Files; len(files) != 1 || files[0].MediaType != want {
			t.Errorf("the model gets %+v", files)
		}
	}
}

// TestPicturesOfTheWeb: a picture with an address is fetched as a call of web_fetch by the sender, once for a
// conversation, and refused where the sender may not call it.
func TestPicturesOfTheWeb(t *testing.T) {
	red, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	r, fetched := catalog.NewRegistry(nil), 0
	type page struct {
		URL string `json:"url"`
	}
	fetch := tool.Func(tool.Definition{Name: "web_fetch", Risk: tool.Read}, func(_ context.Context, p page) (chat.Result, error) {
		if fetched++; strings.HasSuffix(p.URL, "closed") {
			return chat.Result{}, errors.New("the address is closed")
		}
		if strings.HasSuffix(p.URL, "text") {
			return chat.Result{Text: "hello"}, nil
		}
		return chat.Result{Images: []chat.File{{Data: red}}}, nil
	})
	notBob := func(f chat.Facts) bool { return f.User != "bob" }
	if err := r.RegisterWithFilter(fetch, notBob); err != nil {
		t.Fatal(err)
	}
	m := fake.New(fake.Step{Text: "red"}, fake.Step{Text: "sure"})
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}})
	if err != nil {
		t.Fatal(err)
	}
	a := openai.New(e, wire.NewModels(e, nil))
	ask := func(user, url, more string) (int, string) {
		look := `{"role":"user","content":[` + imagePart(url) + `,{"type":"text","text":"look"}]}`
		return complete(a, `{"model":"main","user":"`+user+`","messages":[`+look+more+`]}`)
	}
	for _, more := range []string{"", `,{"role":"assistant","content":"red"},{"role":"user","content":"sure?"}`} {
		if status, body := ask("ann", "HTTPS://example.com/a", more); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	for _, req := range m.Requests() {
		if files := req.Messages[0].Files; len(files) != 1 || !slices.Equal(files[0].Data, red) || files[0].MediaType != "image/png" {
			t.Errorf("the model gets %+v", files)
		}
	}
	if fetched != 1 {
		t.Errorf("the picture is fetched %d times", fetched)
	}
	many := strings.Repeat(`,{"role":"assistant","content":"a"},{"role":"user","content":[`+imagePart("https://example.com/a")+`]}`, 17)
	for name, c := range map[string]struct{ user, url, more, says string }{
		"may not":  {"bob", "https://example.com/a", "", "there is no web_fetch"},
		"closed":   {"ann", "http://example.com/closed", "", "the address is closed"},
		"a text":   {"ann", "http://example.com/text", "", "there is no picture"},
		"too many": {"ann", "http://example.com/a", many, "more than 16 pictures"},
	} {
		status, body := ask(c.user, c.url, c.more)
		if status != 400 || !strings.Contains(body, c.says) || !strings.Contains(body, "invalid_image_url") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

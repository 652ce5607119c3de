package material

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// Transcriber is a server with OpenAI's API for transcriptions, such as a Whisper of one's own.
type Transcriber struct {
	// BaseURL is the API's address; empty means OpenAI's. Model is the server's name of the model.
	BaseURL, Model string
	// APIKey is sent as the bearer token; empty means none.
	APIKey string
	// Client sends the requests; nil means the default one.
	Client *http.Client
}

const (
	// maxRecording is how many bytes the API takes, and transcribing how long it may work.
	maxRecording = 25 << 20
	transcribing = 90 * time.Second
)

// Transcribe returns what is said in a recording.
func (t *Transcriber) Transcribe(ctx context.Context, f chat.File) (string, error) {
	if len(f.Data) > maxRecording {
		return "", fmt.Errorf("the recording has %s, at most %s can be transcribed", size(len(f.Data)),
			size(maxRecording))
	}
	ctx, done := context.WithTimeout(ctx, transcribing)
	defer done()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	name := path.Base(cmp.Or(printable.Line(f.Name, 100), "voice"))
	if path.Ext(name) == "" || path.Ext(name) == ".oga" { // the API goes by the name
		name = strings.TrimSuffix(name, path.Ext(name)) + ".ogg"
	}
	file, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = file.Write(f.Data)
	}
	for field, value := range map[string]string{"model": t.Model, "response_format": "json"} {
		if err == nil {
			err = form.WriteField(field, value)
		}
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return "", err
	}
	url := strings.TrimSuffix(cmp.Or(t.BaseURL, "https://api.openai.com/v1"), "/") + "/audio/transcriptions"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return "", fmt.Errorf("the transcription server: %w", err)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	if t.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+t.APIKey)
	}
	response, err := cmp.Or(t.Client, http.DefaultClient).Do(request)
	if err != nil {
		return "", fmt.Errorf("the transcription server: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	raw, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", fmt.Errorf("the transcription server: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the transcription server answers %s: %s", response.Status,
			printable.Line(string(raw), 200))
	}
	var answer struct{ Text string }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("the transcription server answers no JSON: %w", err)
	}
	return answer.Text, nil
}

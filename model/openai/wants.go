package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// want is what some servers ask for in the words of a refusal.
type want struct {
	words *regexp.Regexp
	of    func(*Model) *atomic.Bool
}

// wants lists them. Once asked for, it is always sent.
var wants = []want{
	{regexp.MustCompile(`stream_options`), func(m *Model) *atomic.Bool { return &m.noOptions }},
	{regexp.MustCompile(`(?i)max_completion_tokens|` +
		`max_tokens.{0,60}(not|un)[ -]?(supported|recogni|known|permitted)|` +
		`(not|un)[ -]?(supported|recogni\w+|known|permitted).{0,40}max_tokens`),
		func(m *Model) *atomic.Bool { return &m.otherLimit }},
	{regexp.MustCompile(`(?i)tool[ _]?calls?.{0,12}\bids?\b|after role .?tool`),
		func(m *Model) *atomic.Bool { return &m.shortIDs }},
	{regexp.MustCompile(`(?i)reasoning(_content)?\b.{0,80}(pass|missing|required|must|back)|` +
		`(missing|requires?).{0,40}reasoning`), func(m *Model) *atomic.Bool { return &m.reasoning }},
}

func (w *want) asked(err error) bool {
	refused := (*model.Error)(nil)
	return errors.As(err, &refused) && refused.Status >= http.StatusBadRequest && w.words.MatchString(refused.Detail)
}

// mistral matches the server and the models that want identifiers of nine characters, and no message of
// the user right after results.
var mistral = regexp.MustCompile(`(?i)(mis|codes|minis|devs|magis)tral|pixtral|voxtral`)

// shortID matches the identifiers that Mistral's models take.
var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// maxID bounds the identifiers that OpenAI takes.
const maxID = 40

// id returns the identifier of a call as the server takes it.
func (m *Model) id(id string) string {
	if len(id) <= maxID && !m.shortIDs.Load() || shortID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

// skipSignature is the signature that Gemini takes for the calls of another model.
var skipSignature = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// pictures returns the files of a request whose bytes are sent.
func pictures(req model.Request) (list []chat.File) {
	for i := range req.Messages {
		_, seen := model.UserContent(req.Messages[i])
		list = append(list, seen...)
	}
	return list
}

// hasPictures reports whether the model would see or read one of the files of a request.
func hasPictures(req model.Request) bool {
	return slices.ContainsFunc(pictures(req), func(f chat.File) bool { return !endpoint.Sound(f) })
}

// ofPictures reports whether an error says that the model takes no pictures, and not only that it did
// not take this one.
func ofPictures(err error) bool {
	refused := (*model.Error)(nil)
	return errors.As(err, &refused) && noPictures.MatchString(refused.Detail)
}

var noPictures = regexp.MustCompile(`(?i)(image|vision|picture|multi-?modal|mmproj).{0,60}(not|n't|un|only) ?(support|available|enabled|a multi)|` +
	`(not|n't) (currently )?support.{0,30}(image|vision|picture|multi-?modal)|support image|` +
	`not a multi-?modal|not a VLM|unknown variant .?image|content (must|should) be a string|valid string|` +
	`only (supports? |accepts? )?text|text-only|expected .?text|must be .?text|values are: .?text|at most 0 image|` +
	`(unsupported|unknown|unexpected|invalid) (content|part|value|type)[^.]{0,12}image_url|` +
	`image_url.{0,12}(not|un) ?(valid|allowed|permitted|supported)|(image|picture).{0,30}not (permitted|allowed|accepted)|` +
	`(not|n't|cannot|unable to) (accept|process|handle|read|take) (images?|pictures?)|\b(no|not have) vision|` +
	`(不支持|非法).{0,16}(图|视觉|多模态|image|text)|(图|视觉|多模态|image).{0,12}不支持`)

// missing tells the person which files of the newest message the model did not get; empty if it got
// all, or if the person was told.
func missing(whole, sent model.Request) string {
	at := len(whole.Messages) - 1
	for at >= 0 && whole.Messages[at].Role != chat.User {
		if whole.Messages[at].Text != "" {
			return ""
		}
		at--
	}
	if at < 0 || len(whole.Format) > 0 {
		return ""
	}
	_, before := model.UserContent(whole.Messages[at])
	_, after := model.UserContent(sent.Messages[at])
	if len(after) == len(before) {
		return ""
	}
	heard := func(list []chat.File) int {
		return len(list) - len(slices.DeleteFunc(slices.Clone(list), endpoint.Sound))
	}
	chinese := chat.Chinese(whole.Messages[at].Text)
	unheard := heard(before)-heard(after) == len(before)-len(after)
	switch onlyPDFs := !slices.ContainsFunc(before, func(f chat.File) bool { return !pdf(f) }) || len(after) > 0; {
	case unheard && chinese:
		return "（该模型听不了声音，以下回答没有参考它。）"
	case unheard:
		return "(This model takes no sound: it answers without yours.)"
	case onlyPDFs && chinese:
		return "（该模型不能读 PDF，以下回答没有参考它。）"
	case onlyPDFs:
		return "(This model takes no PDFs: it answers without yours.)"
	case chinese:
		return "（该模型不能看图片，以下回答没有参考图片。）"
	}
	return "(This model takes no pictures: it answers without yours.)"
}

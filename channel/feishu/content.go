package feishu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

// file is a file of a message, as the platform names it.
type file struct {
	key             string
	kind            string // image or file
	name, mediaType string // no type: the event does not say it
}

const maxListed = 20 // files of a message that are handed over

// readContent returns the text of a message as Markdown and its files (接收消息内容,
// im-v1/message/events/message_content). A type that says nothing to a reader has neither.
func readContent(kind, content string) (text string, files []file, err error) {
	var c struct {
		Text      string
		ImageKey  string `json:"image_key"`
		FileKey   string `json:"file_key"`
		FileName  string `json:"file_name"`
		Name      string
		Longitude string
		Latitude  string
	}
	switch kind {
	case "post":
		return readPost(content)
	case "text", "image", "file", "audio", "media", "location":
		if err := json.Unmarshal([]byte(content), &c); err != nil {
			return "", nil, fmt.Errorf("the content of a message of the type %s: %w", kind, err)
		}
	}
	switch kind {
	case "text":
		return c.Text, nil, nil
	case "location":
		return strings.TrimSpace(fmt.Sprintf("%s (geo:%s,%s)", c.Name, c.Latitude, c.Longitude)), nil, nil
	}
	f, ok := map[string]file{
		"image": {c.ImageKey, "image", "image", ""},
		"file":  {c.FileKey, "file", cmp.Or(c.FileName, "file"), ""},
		"audio": {c.FileKey, "file", "audio.opus", "audio/ogg"},
		"media": {c.FileKey, "file", cmp.Or(c.FileName, "video.mp4"), "video/mp4"},
	}[kind]
	if !ok || f.key == "" {
		return "", nil, nil
	}
	return "", []file{f}, nil
}

// element is a piece of a rich text.
type element struct {
	Tag      string
	Text     string
	Href     string
	User     string `json:"user_id"` // the key of a mention
	UserName string `json:"user_name"`
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
	Emoji    string `json:"emoji_type"`
	Language string
}

// readPost reads a rich text (富文本, the same page).
func readPost(content string) (string, []file, error) {
	var post struct {
		Title   string
		Content [][]element
	}
	if err := json.Unmarshal([]byte(content), &post); err != nil {
		return "", nil, fmt.Errorf("the content of a rich text: %w", err)
	}
	var files []file
	lines := make([]string, 0, len(post.Content)+1)
	if post.Title != "" {
		lines = append(lines, "**"+post.Title+"**")
	}
	for _, paragraph := range post.Content {
		var line strings.Builder
		for _, e := range paragraph {
			switch e.Tag {
			case "text", "md":
				line.WriteString(e.Text)
			case "a":
				if e.Text == "" || e.Text == e.Href {
					line.WriteString(e.Href)
				} else {
					line.WriteString("[" + e.Text + "](" + e.Href + ")")
				}
			case "at":
				if strings.HasPrefix(e.User, "@_") {
					line.WriteString(e.User)
				} else {
					line.WriteString("@" + cmp.Or(e.UserName, e.User))
				}
			case "emotion":
				line.WriteString(":" + e.Emoji + ":")
			case "code_block":
				line.WriteString("```" + strings.ToLower(e.Language) + "\n" + strings.TrimRight(e.Text, "\n") + "\n```")
			case "hr":
				line.WriteString("---")
			case "img":
				if e.ImageKey != "" && len(files) < maxListed {
					files = append(files, file{e.ImageKey, "image", "image", ""})
				}
			case "media":
				if e.FileKey != "" && len(files) < maxListed {
					files = append(files, file{e.FileKey, "file", "video.mp4", "video/mp4"})
				}
			}
		}
		lines = append(lines, line.String())
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), files, nil
}

// maxMentions is how many mentions of a message are replaced.
const maxMentions = 200

// replaceMentions writes names for the keys of mentions, and leaves out those of the bot.
func replaceMentions(text string, mentions []mention, bot string) (out string, named bool) {
	names := map[string]string{"@_all": "@all"}
	for _, m := range mentions[:min(len(mentions), maxMentions)] {
		if !strings.HasPrefix(m.Key, "@_") {
			continue
		}
		names[m.Key] = "@" + printable.Line(cmp.Or(m.Name, m.ID.Open), 100)
		if m.ID.Open == bot {
			names[m.Key], named = "", true
		}
	}
	text = mentioned.ReplaceAllStringFunc(text, func(key string) string {
		bare := strings.TrimSuffix(key, " ")
		switch name, ok := names[bare]; {
		case !ok:
			return key
		case name == "":
			return ""
		default:
			return name + key[len(bare):]
		}
	})
	return strings.TrimSpace(text), named
}

// mentioned matches the key of a mention, and a space behind it.
var mentioned = regexp.MustCompile(`@_[_a-z0-9]* ?`)

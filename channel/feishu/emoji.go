package feishu

import (
	"slices"
	"strings"
)

// emojis are the emojis that the platform's names are known of, each with its name (表情文案说明,
// im-v1/message-reaction/emojis-introduce).
const emojis = "👍 THUMBSUP 👎 ThumbsDown 👌 OK 👏 APPLAUSE 🙏 THANKS 💪 MUSCLE ✅ DONE ✔ CheckMark ❌ CrossMark " +
	"❤ HEART 🔥 Fire 🎉 PARTY 💯 Hundred 🤔 THINKING 😊 SMILE 😂 LOL 😢 CRY 😮 WOW 👀 GLANCE ✍ Typing ⏰ Alarm 🤦 FACEPALM"

// emojiName returns the platform's name of an emoji, which may be given as such a name;
// empty if it is not known.
func emojiName(emoji string) string {
	name := strings.Trim(emoji, ":")
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
		return name
	}
	all := strings.Fields(emojis)
	i := slices.Index(all, strings.TrimSuffix(emoji, "\ufe0f")) // which asks for the colored form
	if i < 0 {
		return ""
	}
	return all[i+1]
}

package platform

import (
	"slices"
	"strings"
)

// emojis are the emojis of which the names are known that Slack and Mattermost give them, each
// with its name.
const emojis = "👀 eyes 👍 +1 👎 -1 ✅ white_check_mark ✔ heavy_check_mark ☑ ballot_box_with_check ❌ x " +
	"❗ exclamation ❓ question ⚠ warning ⏳ hourglass_flowing_sand ⌛ hourglass ⏰ alarm_clock " +
	"🤔 thinking_face 🙏 pray 👌 ok_hand 👏 clap 🎉 tada ❤ heart 🔥 fire 🚀 rocket 💯 100 😀 grinning " +
	"😂 joy 😊 blush 😢 cry 😮 open_mouth 🤖 robot_face 🔒 lock ✍ writing_hand 💤 zzz 🛑 octagonal_sign " +
	"🔧 wrench 💡 bulb 👋 wave"

// EmojiName returns the name that Slack and Mattermost give an emoji, which may be given as
// such a name; empty if it is not known.
func EmojiName(emoji string) string {
	name := strings.Trim(emoji, ":")
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+-") == "" {
		return name
	}
	all := strings.Fields(emojis)
	i := slices.Index(all, strings.TrimSuffix(emoji, "\ufe0f")) // which asks for the colored form
	if i < 0 {
		return ""
	}
	return all[i+1]
}

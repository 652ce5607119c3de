package slack

import "strings"

// emojiName returns Slack's name of an emoji, which may be given as such a name; empty if
// it is not known.
func emojiName(emoji string) string {
	name := strings.Trim(emoji, ":")
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+-") == "" {
		return name
	}
	name = ""
	switch strings.TrimSuffix(emoji, "\ufe0f") { // which asks for the colored form
	case "👀":
		name = "eyes"
	case "👍":
		name = "+1"
	case "👎":
		name = "-1"
	case "✅":
		name = "white_check_mark"
	case "✔":
		name = "heavy_check_mark"
	case "☑":
		name = "ballot_box_with_check"
	case "❌":
		name = "x"
	case "❗":
		name = "exclamation"
	case "❓":
		name = "question"
	case "⚠":
		name = "warning"
	case "⏳":
		name = "hourglass_flowing_sand"
	case "⌛":
		name = "hourglass"
	case "⏰":
		name = "alarm_clock"
	case "🤔":
		name = "thinking_face"
	case "🙏":
		name = "pray"
	case "👌":
		name = "ok_hand"
	case "👏":
		name = "clap"
	case "🎉":
		name = "tada"
	case "❤":
		name = "heart"
	case "🔥":
		name = "fire"
	case "🚀":
		name = "rocket"
	case "💯":
		name = "100"
	case "😀":
		name = "grinning"
	case "😂":
		name = "joy"
	case "😊":
		name = "blush"
	case "😢":
		name = "cry"
	case "😮":
		name = "open_mouth"
	case "🤖":
		name = "robot_face"
	case "🔒":
		name = "lock"
	case "✍":
		name = "writing_hand"
	case "💤":
		name = "zzz"
	case "🛑":
		name = "octagonal_sign"
	case "🔧":
		name = "wrench"
	case "💡":
		name = "bulb"
	case "👋":
		name = "wave"
	}
	return name
}

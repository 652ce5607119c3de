// Package memories holds the tools with which a model keeps and finds what it should know
// in later conversations.
//
//etui:tools groups=memory source=builtin version=1
package memories

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/tool"
)

// Keeper gives the tools a memory.
type Keeper struct {
	// Memory is where the callers' memories are; it is set before the first call.
	Memory Memory
}

// Memory keeps and finds what concerns a caller, and nothing of other people.
type Memory interface {
	Remember(ctx context.Context, caller chat.Facts, c memory.Change) (string, error)
	Note(ctx context.Context, caller chat.Facts, text string) error
	Recall(ctx context.Context, caller chat.Facts, query string, limit int) ([]memory.Passage, error)
}

type change struct {
	// add: a lasting fact or wish; note: what happened today; replace and remove: correct what was added
	Action string `json:"action" enum:"add,note,replace,remove"`
	// the new text, one short sentence
	Text string `json:"text,omitempty"`
	// for replace and remove: the words as they are in the memory
	Old string `json:"old,omitempty"`
}

// remember keeps something for later conversations with the same person or group: who they
// are, what they prefer, what was decided. No passwords or keys.
//
//etui:tool name=memory risk=write
//etui:zh 记住以后的对话需要知道的事：用户是谁、有什么偏好、做了什么决定。不存密码和密钥。
//etui:alias remember, keep in mind, forget about, note down, 记住, 记一下, 以后别忘了, 忘掉
func (k *Keeper) remember(ctx context.Context, in change) (string, error) {
	caller := tool.Caller(ctx)
	if in.Action == "note" {
		if err := k.Memory.Note(ctx, caller, in.Text); err != nil {
			return "", err
		}
		return "Noted for today.", nil
	}
	c := memory.Change{Old: in.Old, New: in.Text}
	switch in.Action {
	case "add":
		c.Old = ""
	case "remove":
		c.New = ""
	}
	if in.Action != "add" && in.Old == "" {
		return "", fmt.Errorf("%s needs old, the words as they are in the memory", in.Action)
	}
	text, err := k.Memory.Remember(ctx, caller, c)
	if err != nil {
		return "", err
	}
	return "The memory is now:\n" + text, nil
}

type search struct {
	// what to look for, in a few words
	Query string `json:"query"`
	// how many results, 1 to 20
	Limit int `json:"limit,omitempty"`
}

// searchMemory finds what was said, noted or decided in earlier conversations with the same
// person or group.
//
//etui:tool risk=read
//etui:zh 查找以前和同一个人或群聊说过、记过、决定过的事。
//etui:alias earlier conversations, what did we say, last time, what did I tell you about, 以前说过, 上次聊的, 历史记录
func (k *Keeper) searchMemory(ctx context.Context, in search) (string, error) {
	if in.Limit < 0 || in.Limit > 20 {
		return "", fmt.Errorf("limit is %d; it must be 1 to 20", in.Limit)
	}
	if in.Limit == 0 {
		in.Limit = 8
	}
	found, err := k.Memory.Recall(ctx, tool.Caller(ctx), in.Query, in.Limit)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "Nothing was found. Try other words.", nil
	}
	var text strings.Builder
	for _, f := range found {
		fmt.Fprintf(&text, "[%s] %s\n", f.From, f.Text)
	}
	return text.String(), nil
}

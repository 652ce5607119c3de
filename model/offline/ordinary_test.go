package offline_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/tool"
)

// builtins are the built-in tools with their parameters; those with a star are required.
var builtins = []struct{ name, params string }{
	{"append_file", "path* content*"}, {"diff_files", "from* to*"}, {"edit_file", "path* old* new*"}, {"exec", "command*"},
	{"find_files", "pattern* path"}, {"list_dir", "path"}, {"make_dir", "path*"}, {"memory", "action* text old"},
	{"read_file", "path*"}, {"read_image", "path*"}, {"remove_file", "path*"}, {"rename_file", "from* to*"},
	{"schedule", "action* text when zone id"}, {"search_memory", "query*"}, {"search_text", "pattern* path"},
	{"web_fetch", "url*"}, {"write_file", "path* content*"},
}

func builtinTools() (list []tool.Definition) {
	for _, b := range builtins {
		properties, required := map[string]any{}, []string{}
		for p := range strings.FieldsSeq(b.params) {
			name, must := strings.CutSuffix(p, "*")
			properties[name] = map[string]any{"type": "string"}
			if must {
				required = append(required, name)
			}
		}
		raw, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
		list = append(list, tool.Definition{Name: b.name, Parameters: raw, Risk: tool.Write, Source: "builtin"})
	}
	return list
}

// TestOrdinaryVerbs: the usual verbs with their objects, in both languages, call the tool that does it with
// the right arguments. A message that lacks an argument is asked for it, and one that no tool does gets none.
func TestOrdinaryVerbs(t *testing.T) {
	t.Parallel()
	tools := builtinTools()
	m := offline.New(offline.Config{Now: now})
	for _, c := range [][2]string{
		{"读 a.txt", `read_file {"path":"a.txt"}`},
		{"读一下 a.txt", `read_file {"path":"a.txt"}`},
		{"看 a.txt", `read_file {"path":"a.txt"}`},
		{"看看 a.txt", `read_file {"path":"a.txt"}`},
		{"查看 a.txt", `read_file {"path":"a.txt"}`},
		{"打开 a.txt", `read_file {"path":"a.txt"}`},
		{"打开a.txt", `read_file {"path":"a.txt"}`},
		{"打开文件 a.txt", `read_file {"path":"a.txt"}`},
		{"显示 a.txt 的内容", `read_file {"path":"a.txt"}`},
		{"a.txt 里写了什么", `read_file {"path":"a.txt"}`},
		{"打开 https://example.com", `web_fetch {"url":"https://example.com"}`},
		{"看一下 https://example.com", `web_fetch {"url":"https://example.com"}`},
		{"写 a.txt 内容是 hi", `write_file {"content":"hi","path":"a.txt"}`},
		{"把 hi 写入 n.txt", `write_file {"content":"hi","path":"n.txt"}`},
		{"保存 hi 到 n.txt", `write_file {"content":"hi","path":"n.txt"}`},
		{"新建文件 n.txt 内容是 hi", `write_file {"content":"hi","path":"n.txt"}`},
		{"改一下 a.txt", "new，old。"},
		{"修改 a.txt", "new，old。"},
		{"编辑 a.txt", "new，old。"},
		{"在 a.txt 末尾加上 bye", `append_file {"content":"bye\n","path":"a.txt"}`},
		{"删 b.txt", `remove_file {"path":"b.txt"}`},
		{"删除 b.txt", `remove_file {"path":"b.txt"}`},
		{"删掉 b.txt", `remove_file {"path":"b.txt"}`},
		{"把 b.txt 删了", `remove_file {"path":"b.txt"}`},
		{"找 a.txt", `find_files {"pattern":"a.txt"}`},
		{"找一下 txt 文件", `find_files {"pattern":"*.txt"}`},
		{"查找 *.txt", `find_files {"pattern":"*.txt"}`},
		{"找包含 hello 的文件", `search_text {"pattern":"hello"}`},
		{"搜索 hello", `search_text {"pattern":"hello"}`},
		{"查 hello", `search_text {"pattern":"hello"}`},
		{"看看 docs 文件夹里有什么", `list_dir {"path":"docs"}`},
		{"复制 a.txt 到 c.txt", ""},
		{"把 a.txt 复制成 c.txt", ""},
		{"移动 b.txt 到 docs", `rename_file {"from":"b.txt","to":"docs/b.txt"}`},
		{"把 b.txt 移到 docs/b.txt", `rename_file {"from":"b.txt","to":"docs/b.txt"}`},
		{"重命名 b.txt 为 d.txt", `rename_file {"from":"b.txt","to":"d.txt"}`},
		{"把 b.txt 改名为 d.txt", `rename_file {"from":"b.txt","to":"d.txt"}`},
		{"新建文件夹 new", `make_dir {"path":"new"}`},
		{"创建目录 new", `make_dir {"path":"new"}`},
		{"比较 a.txt 和 b.txt", `diff_files {"from":"a.txt","to":"b.txt"}`},
		{"运行 ls", `exec {"command":"ls"}`},
		{"执行命令 ls -l", `exec {"command":"ls -l"}`},
		{"记住 我喜欢茶", `memory {"action":"add","text":"我喜欢茶"}`},
		{"记一下 我喜欢茶", `memory {"action":"add","text":"我喜欢茶"}`},
		{"每天 9 点提醒我喝水", `schedule {"action":"add","text":"每天 9 点提醒我喝水","when":"0 9 * * *"}`},
		{"你记得我喜欢什么吗", `search_memory {"query":"我喜欢什么"}`},
		{"看图片 p.png", `read_image {"path":"p.png"}`},
		{"发送 a.txt", ""},
		{"read a.txt", `read_file {"path":"a.txt"}`},
		{"open a.txt", `read_file {"path":"a.txt"}`},
		{"show a.txt", `read_file {"path":"a.txt"}`},
		{"show me a.txt", `read_file {"path":"a.txt"}`},
		{"look at a.txt", `read_file {"path":"a.txt"}`},
		{"what does a.txt say", `read_file {"path":"a.txt"}`},
		{"cat a.txt", `read_file {"path":"a.txt"}`},
		{"open https://example.com", `web_fetch {"url":"https://example.com"}`},
		{"write hi to n.txt", `write_file {"content":"hi","path":"n.txt"}`},
		{"save hi to n.txt", `write_file {"content":"hi","path":"n.txt"}`},
		{"create a file n.txt with hi", `write_file {"content":"hi","path":"n.txt"}`},
		{"change a.txt", "new, old."},
		{"edit a.txt", "new, old."},
		{"append bye to a.txt", `append_file {"content":"bye\n","path":"a.txt"}`},
		{"delete b.txt", `remove_file {"path":"b.txt"}`},
		{"remove b.txt", `remove_file {"path":"b.txt"}`},
		{"find a.txt", `find_files {"pattern":"a.txt"}`},
		{"find all txt files", `find_files {"pattern":"*.txt"}`},
		{"search for hello", `search_text {"pattern":"hello"}`},
		{"find hello in the files", `search_text {"pattern":"hello"}`},
		{"look up hello", `search_text {"pattern":"hello"}`},
		{"list files", `list_dir {}`},
		{"list the folder docs", `list_dir {"path":"docs"}`},
		{"what files are here", `list_dir {}`},
		{"copy a.txt to c.txt", ""},
		{"move b.txt to docs/b.txt", `rename_file {"from":"b.txt","to":"docs/b.txt"}`},
		{"rename b.txt to d.txt", `rename_file {"from":"b.txt","to":"d.txt"}`},
		{"create a folder new", `make_dir {"path":"new"}`},
		{"make a directory new", `make_dir {"path":"new"}`},
		{"compare a.txt and b.txt", `diff_files {"from":"a.txt","to":"b.txt"}`},
		{"run ls", `exec {"command":"ls"}`},
		{"run the command ls -l", `exec {"command":"ls -l"}`},
		{"remember that I like tea", `memory {"action":"add","text":"I like tea"}`},
		{"打开 example.com", `web_fetch {"url":"https://example.com"}`},
		{"帮我看一下 会议记录.md", `read_file {"path":"会议记录.md"}`},
		{"please open docs/a.md.", `read_file {"path":"docs/a.md"}`},
		{"提醒我明天下午 3 点半开会", `schedule {"action":"add","text":"提醒我明天下午 3 点半开会","when":"2026-11-21T15:30"}`},
		{"每天 9 点提醒我喝水", `schedule {"action":"add","text":"每天 9 点提醒我喝水","when":"0 9 * * *"}`},
		{"remind me tomorrow at 9 pm to call Bob", `schedule {"action":"add","text":"remind me tomorrow at 9 pm to call Bob","when":"2026-11-21T21:00"}`},
		{"提醒我开会", "when。"},
	} {
		answer, _, _, err := model.Answer(m.Stream(context.Background(), model.Request{Messages: []chat.Message{user(c[0])}, Tools: tools}))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, call := range answer.Calls {
			got = call.Name + " " + string(call.Arguments)
		}
		if _, needs, ok := strings.Cut(answer.Text, askedFor(answer.Text)); got == "" && ok {
			got = needs
		}
		if got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
}

// askedFor is what stands before the parameters in a question for them.
func askedFor(text string) string {
	if strings.Contains(text, "还需要：") {
		return "还需要："
	}
	return "I need: "
}

// TestConfirmsInChinese: what a tool says of its deed or its failure is in the language of the conversation; what it
// found stays as it is.
func TestConfirmsInChinese(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		failed     bool
		want       string
	}{
		{"write_file", "Wrote 2 bytes to a.txt.", false, "已向 a.txt 写入 2 字节。"},
		{"read_file", `there is no file or folder "x"; list_dir shows what is there`, true, "没有文件或文件夹“x”；list_dir 可以列出现有内容"},
		{"read_file", "Removed a.txt.", false, "Removed a.txt."},
	} {
		said, _ := ask(t, []chat.Message{
			user("请做这件事"), {Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: c.name, Arguments: []byte("{}")}}},
			{Role: chat.Tool, Result: &chat.Result{CallID: "1", Name: c.name, Text: c.text, Failed: c.failed}},
		})
		if !strings.HasSuffix(said.Text, "\n"+c.want) {
			t.Errorf("%q, want %q", said.Text, c.want)
		}
	}
}

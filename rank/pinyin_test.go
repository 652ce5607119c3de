//go:build !etui_nogloss

package rank_test

import (
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// A question in pinyin is read as Chinese, with and without tones and spaces. Other languages are not
// read as pinyin, although their words may be made of syllables.
func TestPinyin(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "request_leave", Description: "Ask for days off", Translations: map[string]string{"zh": "申请请假"}},
		{Name: "book_room", Description: "Books a meeting room", Translations: map[string]string{"zh": "预订会议室"}},
		{Name: "get_weather", Description: "The weather of a place"},
		{Name: "delete_file", Description: "删除文件"},
		{Name: "reset_password", Description: "Gives somebody a new password"},
		{Name: "show_menu", Description: "Shows the menu of the canteen"},
	}
	x := rank.New(tools, rank.Weights{})
	for question, want := range map[string]int{
		"qingjia liang tian": 0, "qing jia liang tian": 0, "Wo yao qingjia": 0, "qǐngjià liǎng tiān": 0, "qing3 jia4 2 tian1": 0, "mingtianxiawuyudinghuiyishi": 1,
		"bang wo ding yi ge huiyishi": 1, "mingtian de tianqi": 2, "shanchu notes.txt": 3, "ba wen jian shan chu": 3, "wo de mi ma wang le": 4,
		"ni hao": -1, "xie xie ni": -1,
	} {
		r := x.Rank(rank.Query{Text: question})
		if hits := r.Hits(1); r.Request == "" && want >= 0 || (want < 0) != (len(hits) == 0) || want >= 0 && hits[0].Position != want {
			t.Errorf("%q is read as %q and finds %v, want %d", question, r.Request, hits, want)
		}
	}
	for question, want := range map[string]string{
		"qingjia liang tian": "请假两天", "wo yao qingjia san tian": "我要请假三天", "yuding liang ge huiyishi": "预订两个会议室",
	} {
		if r := x.Rank(rank.Query{Text: question}); r.Request != want {
			t.Errorf("%q is read as %q, want %q", question, r.Request, want)
		}
	}
	r := x.Rank(rank.Query{Text: "and tomorrow?", History: []chat.Message{{Role: chat.User, Text: "jintian de tianqi"}}})
	if hits := r.Hits(1); len(hits) == 0 || hits[0].Position != 2 {
		t.Errorf("a question that goes on in pinyin finds %v", hits)
	}
	for _, question := range []string{
		"change the menu", "can he ban me", "a menu in china", "hang on", "ping Wang Wei", "banana", "la casa de mi mama", "manana", "machen", "die Sache lang machen", "wo suchen die Leute",
		"mi agenda", "una cosa", "fai una sintesi", "yoyaku shite kudasai", "saya mau cuti dua hari", "danke", "me gusta", "show me", "on", "", "''", "wo de", "gen an image of a panda",
	} {
		if r := x.Rank(rank.Query{Text: question}); r.Request != "" {
			t.Errorf("%q is read as pinyin: %q", question, r.Request)
		}
	}
}

// A Chinese name that tools mention only as an example finds none of them alone.
func TestChineseNames(t *testing.T) {
	t.Parallel()
	x := rank.New([]*tool.Definition{
		{Name: "get_forecast", Description: "Tells how warm it will be", Parameters: []byte(`{"type":"object","properties":{"where":{"type":"string","description":"如巴黎"}}}`)},
		{Name: "translate_text", Description: "Writes a text in another language", Translations: map[string]string{"zh": "翻译文字"}},
	}, rank.Weights{})
	for question, want := range map[string]int{"翻译给巴黎": 1, "去巴黎": -1} {
		r, got := x.Rank(rank.Query{Text: question}), -1
		if hits := r.Hits(1); len(hits) > 0 {
			got = hits[0].Position
		}
		if got != want {
			t.Errorf("%q finds %d, want %d", question, got, want)
		}
	}
}

//go:build !etui_nogloss

package rank_test

import (
	"testing"
	"unicode/utf8"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// A long Chinese word counts as much as a short one: its parts are no further words.
func TestChineseWordCountsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, noun, verb, part string }{
		{"增加供应商", "供应商评级", "增加客户", "供电情况"},
		{"新建流水线", "流水线状态", "新建日程", "缴纳水费"},
		{"取消信用卡", "信用卡额度", "取消会议", "用餐记录"},
	} {
		tools := []*tool.Definition{
			{Name: "t1", Description: c.noun}, {Name: "t2", Description: c.verb}, {Name: "t3", Description: c.part},
			{Name: "t4", Description: "天气预报"}, {Name: "t5", Description: "翻译文章"}, {Name: "t6", Description: "播放音乐"},
		}
		r := rank.New(tools, rank.Weights{}).Rank(rank.Query{Text: c.question})
		if noun, verb := r.Scores[0], r.Scores[1]; noun > 1.3*verb || verb > 1.3*noun {
			t.Errorf("%s: the noun adds %.2f, the verb %.2f", c.question, noun, verb)
		}
		if r.Scores[2] != 0 {
			t.Errorf("%s finds %s with %.2f by a character of another word", c.question, c.part, r.Scores[2])
		}
		terms, _ := r.Words(0)
		for _, term := range terms {
			if utf8.RuneCountInString(term.Word) == 1 {
				t.Errorf("%s matches %s by %s", c.question, c.noun, term.Word)
			}
		}
	}
}

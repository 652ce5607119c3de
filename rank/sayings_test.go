//go:build !etui_nogloss

package rank_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// What people say in everyday speech finds the tools that use other words, in English and Chinese.
func TestSayings(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "check_stock", Description: "Tells how many pieces are in the inventory", Translations: map[string]string{"zh": "查询库存"}},
		{Name: "call_human", Description: "Starts a transfer to an agent", Translations: map[string]string{"zh": "接人工客服"}},
		{Name: "issue_voucher", Description: "Makes a discount code", Translations: map[string]string{"zh": "发放优惠券"}},
		{Name: "grant_access", Description: "Gives somebody a role", Translations: map[string]string{"zh": "授予权限"}},
	}
	for question, want := range map[string]string{
		"we ran out of mugs": "check_stock", "杯子卖完了吗": "check_stock", "put me through": "call_human",
		"give her 20 off": "issue_voucher", "can Mia have the keys": "grant_access", "我要跟真人说话": "call_human",
		"run the mugs": "",
	} {
		got := found(tools, rank.Query{Text: question}, 1)
		if want != "" && !slices.Equal(got, []string{want}) || want == "" && len(got) > 0 {
			t.Errorf("%q finds %v, want %q", question, got, want)
		}
	}
}

package discord

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	for _, c := range [][2]string{
		{"plain & <b>", `plain & \<b>`},
		{"**An** answer: `a_b*c` <tag> & 1 < 2, 好", "**An** answer: `a_b*c` \\<tag> & 1 \\< 2, 好"},
		{"# Title\n\ntext", "# Title\n\ntext"},
		{"##### Deep **one**\ntext", "Deep **one**\ntext"},
		{"#### Deep", "**Deep**"},
		{"*it* _it_ __b__ ~~s~~", "*it* *it* **b** ~~s~~"},
		{"- a\n- b\n  - c\n- d", "- a\n- b\n  - c\n- d"},
		{"3. a\n4. b", "3. a\n4. b"},
		{"- [x] done", "- ☑ done"},
		{"> q\n> r\n\nafter", "> q\n> r\n\nafter"},
		{"> a\n> > b", "> a\n> b"},
		{"```go\nif a < b {\n```", "```go\nif a < b {\n```"},
		{"````\n```\n````", "```\n`\u200b``\n```"},
		{"``a`b``", "`` a`b ``"},
		{"[site](https://x.org/?a=1)", "[site](https://x.org/?a=1)"},
		{"[a](https://x.org/a_(b))", "[a](https://x.org/a_%28b%29)"},
		{"[https://bank.org](https://x.org)", "[bank.org](https://x.org)"},
		{"https://x.org/_a_b", "https://x.org/_a_b"},
		{"![alt](https://x.org/a.png)", "[alt](https://x.org/a.png)"},
		{"[see](docs/a.md)", "see (docs/a.md)"},
		{"<@1> <@&2> <#3> <t:4> </x:5> <id:home>", `\<@1> \<@&2> \<#3> \<t:4> \</x:5> id:home`},
		{"||spoiler|| a_b", `\|\|spoiler\|\| a\_b`},
		{"-# small", `\-# small`},
		{`1\. no list`, `1\. no list`},
		{"|a|b|\n|-|-|\n|1|22|", "```\na | b\n1 | 22\n```"},
		{"a\n\n---\n\nb", "a\n\n———\n\nb"},
		{"me@x.org", "me@x.org"},
		{"[ref]: https://x.org", `\[ref]: https://x.org`},
	} {
		if got := dialect().Render(c[0]); got != c[1] {
			t.Errorf("%q:\n got %q\nwant %q", c[0], got, c[1])
		}
	}
	if n := (&Channel{dialect: dialect()}).length("a_b😀"); n != 6 {
		t.Errorf("length %d", n)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("**a** <@1> `b`\n> c\n- d")
	f.Add("[x](<@1>) ![](a)\n|a|\n|-|")
	f.Add("<!--\n<@1>\n-->")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			t.Skip()
		}
		_ = dialect().Render(text)
		_ = (&Channel{dialect: dialect()}).length(text)
	})
}

// FuzzGateway: whatever the Gateway sends is left out or becomes a message of somebody in a
// channel.
func FuzzGateway(f *testing.F) {
	c, err := New(Config{Token: "a.b.c"})
	if err != nil {
		f.Fatal(err)
	}
	c.self.Store(&account{"901", "900", "etui"})
	for _, seed := range []string{
		`{"op":10,"d":{"heartbeat_interval":41250},"s":null,"t":null}`,
		`{"op":0,"t":"MESSAGE_CREATE","s":2,"d":{"id":"1","type":0,"channel_id":"2","author":{"id":"3","username":"a"},"content":"<@900> hi","mentions":[{"id":"900","username":"etui"}],"timestamp":"2026-08-06T10:00:00.000000+00:00"}}`,
		`{"op":0,"t":"MESSAGE_CREATE","s":2,"d":{"id":"1","type":19,"channel_id":"2","guild_id":"4","author":{"id":"3"},"content":"x","referenced_message":{"author":{"id":"900"}},"message_snapshots":[{"message":{"content":"y"}}],"attachments":[{"id":"1","url":"x","size":-1}]}}`,
		`{"op":0,"t":"INTERACTION_CREATE","s":3,"d":{"id":"1","application_id":"901","type":2,"token":"t","channel_id":"2","user":{"id":"3"},"data":{"name":"new","type":1,"options":[{"name":"text","value":5}]}}}`,
		`{"op":0,"t":"INTERACTION_CREATE","s":3,"d":{"id":"1","application_id":"901","type":3,"token":"t","channel_id":"2","member":{"user":{"id":"3"}},"message":{"id":"9"},"data":{"custom_id":"etui:a","component_type":2}}}`,
		`{"op":9,"d":false}`, `{"op":0,"s":-1}`, `[]`, `{"op":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseFrame(data)
		if err != nil {
			return
		}
		a, err := c.arrival(e.Type, e.Data)
		if err != nil || a == nil {
			return
		}
		if a.ID == "" || !snowflake(a.channel) || !snowflake(a.From.ID) || a.From.ID == "900" && e.Type == "MESSAGE_CREATE" || a.Mentioned && !a.Group || strings.Contains(a.From.Name, "\n") {
			t.Errorf("%+v", a)
		}
	})
}

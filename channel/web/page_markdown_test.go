package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/web"
)

// elements stands for what a browser has of which the page builds a chat.
const elements = `
class Node { constructor(tag) { this.tag = tag; this.childNodes = [] }
  get nodeName() { return this.tag.toUpperCase() }
  set textContent(text) { this.childNodes = [text] }
  append(...all) { this.childNodes.push(...all) }
  get html() {
    const escaped = text => String(text).replace(/[&<>]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c])
    return "<" + this.tag + (this.href ? " " + this.href : "") + ">" + this.childNodes.map(n => n instanceof Node ? n.html : escaped(n)).join("") + "</" + this.tag + ">"
  } }
const document = { createElement: tag => new Node(tag), documentElement: {}, getElementById: () => ({}) }
const location = { hash: "", protocol: "http:", host: "x", pathname: "/" }, WebSocket = class { send() {} }, navigator = { language: "en" }
`

// TestPageMarkdown: the page shows the Markdown of models as they mean it, and never as HTML.
func TestPageMarkdown(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed")
	}
	cases := [][2]string{
		{"**注意：**请看 2*3*4 and __init__.py", "<p><strong>注意：</strong>请看 2*3*4 and __init__.py</p>"},
		{"***both*** and _it_ __b__", "<p><strong><em>both</em></strong> and <em>it</em> <strong>b</strong></p>"},
		{"`a``b` and `` a`b ``", "<p><code>a``b</code> and <code>a`b</code></p>"},
		{`\*no\* &lt;b&gt; a<br>b <b>x</b>`, "<p>*no* &lt;b&gt; a\nb &lt;b&gt;x&lt;/b&gt;</p>"},
		{"one  \ntwo\nthree", "<p>one\ntwo\nthree</p>"},
		{"[维基](https://e.com/Go_(语言)) <https://e.com/a_b> [x](javascript:alert(1))", "<p><a https://e.com/Go_(语言)>维基</a> <a https://e.com/a_b>https://e.com/a_b</a> [x](javascript:alert(1))</p>"},
		{"(https://e.com/A_(b)), https://e.cn/路径，好", "<p>(<a https://e.com/A_(b)>https://e.com/A_(b)</a>), <a https://e.cn/路径>https://e.cn/路径</a>，好</p>"},
		{"before\n| a | b |\n|---|:-:|\n| `x|y` | 4 \\| 5 |\nafter", "<p>before</p><div><table><tr><th>a</th><th>b</th></tr><tr><td><code>x|y</code></td><td>4 | 5</td></tr></table></div><p>after</p>"},
		{"- 一\n  - 二\n    - [x] 三\n\n- 四\n\n  段", "<ul><li>一<ul><li>二<ul><li>☑ 三</li></ul></li></ul></li><li>四<p>段</p></li></ul>"},
		{"1. a\n\n   ```go\n   x\n     y\n   ```\n\n2. b", "<ol><li>a<pre><code>x\n  y</code></pre></li><li>b</li></ol>"},
		{"````\n```js\n````\nA\n===\nb", "<pre><code>```js</code></pre><h2>A</h2><p>b</p>"},
		{"> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"},
		{strings.Repeat("> ", 14) + "x", strings.Repeat("<blockquote>", 13) + "<p>&gt; x</p>" + strings.Repeat("</blockquote>", 13)},
	}
	script, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", "{"+elements+pageScript(t)+
		"\nconsole.log(JSON.stringify("+string(script)+".map(c => blocks(c[0]).map(e => e.html).join(\"\"))))\n}")
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	var shown []string
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for i, c := range cases {
		if shown[i] != c[1] {
			t.Errorf("%q\n%s, want\n%s", c[0], shown[i], c[1])
		}
	}
}

// pageScript returns the script of the page as a browser gets it.
func pageScript(t *testing.T) string {
	t.Helper()
	p := start(t, false, func(c *web.Config) { c.Page, c.Origins = true, nil })
	p.Channel(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	resp, err := p.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<script>")
	script, _, _ := strings.Cut(rest, "</script>")
	return script
}

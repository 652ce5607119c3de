package email

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

func encoded(t *testing.T, charset, text string) string {
	t.Helper()
	e, err := htmlindex.Get(charset)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString([]byte(raw))
}

func TestCharsets(t *testing.T) {
	for charset, text := range map[string]string{
		"gb2312": "你好，世界", "GBK": "镕基", "gb18030": "㐀你好", "iso-2022-jp": "こんにちは", "big5": "您好", "euc-kr": "안녕", "windows-1251": "привет", "iso-8859-1": "café", "utf-8": "naïve",
	} {
		label := strings.ToLower(charset)
		word := "=?" + charset + "?B?" + encoded(t, label, text) + "?="
		raw := "From: " + word + " <ann@example.org>\r\nSubject: " + word + "\r\nContent-Type: text/plain; charset=\"" + charset + "\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" + encoded(t, label, text) + "\r\n"
		h, err := readHead([]byte(raw))
		if err != nil || h.subject != text || h.from.Name != text {
			t.Errorf("%s: subject %q, name %+v, %v", charset, h.subject, h.from, err)
		}
		if got := readBody([]byte(raw), false); got.text != text || len(got.mended) > 0 {
			t.Errorf("%s: %+v", charset, got)
		}
	}
}

const mixed = `From: ann@example.org
Content-Type: multipart/mixed; boundary=m

--m
Content-Type: multipart/alternative; boundary=a

--a
Content-Type: text/plain; charset=unheard-of

Plain text
--a
Content-Type: multipart/related; boundary=r

--r
Content-Type: text/html

<p>Rich text <img src=cid:x alt="our logo"></p>
--r
Content-Type: image/png; name="logo.png"
Content-Transfer-Encoding: base64
Content-ID: <x>

iVBORw0KGgo=
--r--
--a--
--m
Content-Type: application/octet-stream
Content-Disposition: attachment; filename="../../=?utf-8?q?r=C3=A9sum=C3=A9=2Epdf?="
Content-Transfer-Encoding: base64

JVBERi0xLjcK
--m
Content-Type: application/zip
Content-Disposition: attachment; filename=a.zip

zip
--m
Content-Type: text/csv
Content-Disposition: attachment; filename=cut.csv
Content-Transfer-Encoding: base64

YSxi!!
`

func TestBody(t *testing.T) {
	b := readBody([]byte(strings.ReplaceAll(mixed, "\n", "\r\n")), false)
	files := b.files
	if b.text != "Plain text" || len(files) != 4 {
		t.Fatalf("%+v", b)
	}
	for i, want := range []struct {
		name, kind string
		data       bool
	}{{"logo.png", "image/png", true}, {"résumé.pdf", "application/octet-stream", true}, {"a.zip", "application/zip", true}, {"cut.csv", "text/csv", true}} {
		if f := files[i]; f.Name != want.name || f.MediaType != want.kind || (len(f.Data) > 0) != want.data {
			t.Errorf("file %d: %+v", i, f)
		}
	}
	text := readBody([]byte("Content-Type: text/html; charset=utf-8\r\n\r\n<style>p{}</style><script>x()</script><p>Hello <b>you</b> <img alt='logo' src='https://evil.example/p.png'></p><ul><li>one</li></ul>"), false).text
	if text != "Hello **you** logo\n\n- one" {
		t.Errorf("of HTML: %q", text)
	}
}

func TestNewest(t *testing.T) {
	for name, c := range map[string]struct {
		answers    bool
		text, want string
	}{
		"plain":              {true, "Hello\n\nthere", "Hello\n\nthere"},
		"signature":          {false, "Hello\n-- \nAnn\nPhone: 1", "Hello"},
		"long after dashes":  {false, "Hello\n--\n" + strings.Repeat("line\n", 30) + "end", "Hello\n--\n" + strings.Repeat("line\n", 30) + "end"},
		"quote below":        {true, "Yes.\n\nOn Mon, 23 Nov 2026 at 08:00, Bot\n<bot@example.net> wrote:\n\n> Shall I?\n> \n>> What?\n", "Yes."},
		"kept if not ours":   {false, "Sum it up.\n\nOn Mon, 23 Nov 2026, Bob wrote:\n> A\n> B", "Sum it up.\n\nOn Mon, 23 Nov 2026, Bob wrote:\n> A\n> B"},
		"german":             {true, "Ja.\n\nAm 23.11.2026 um 08:00 schrieb Bot:\n> Soll ich?", "Ja."},
		"chinese":            {true, "好的\n\n在 2026年11月23日，Bot 写道：\n> 要吗？", "好的"},
		"between the lines":  {true, "On Monday 2026 Bot wrote:\n> One?\nYes.\n> Two?\nNo.", "On Monday 2026 Bot wrote:\n> One?\nYes.\n> Two?\nNo."},
		"above, then quote":  {true, "> One?\nYes.\n\n> Two?", "> One?\nYes.\n\n> Two?"},
		"quotes an error":    {true, "What does this line mean?\n> ERROR 42: flux", "What does this line mean?\n> ERROR 42: flux"},
		"long, unintroduced": {true, "Yes.\n" + strings.Repeat("> line\n", 20), "Yes."},
		"163.com":            {true, "好的\n\n在 2026-01-01 10:00:00，\"Bot\" <bot@example.net> 写道：\n\nold without mark", "好的"},
		"no mail below":      {true, "See:\n\nIn 2026 ann@example.org asked and Bob wrote a book:\nok", "See:\n\nIn 2026 ann@example.org asked and Bob wrote a book:\nok"},
		"outlook in polish":  {true, "Tak\n\nOd: Bot <bot@example.net>\nWysłano: czwartek, 1 stycznia 2026 10:00\nDo: Ann\nTemat: x\n\nstare", "Tak"},
		"outlook in korean":  {true, "네\n\n보낸 사람: Bot <bot@example.net>\n보낸 날짜: 2026년 1월 1일 10:00\n받는 사람: Ann\n제목: x\n\n옛", "네"},
		"russian, two lines": {true, "Да\n\nпн, 1 янв. 2026 г. в 10:00, Bot\n<bot@example.net>:\n\n> x", "Да"},
		"only a quote":       {true, "> One?", "> One?"},
		"no introduction":    {true, "These are good:\n\n> One?", "These are good:\n\n> One?"},
		"signature, quote":   {true, "Yes.\n\n-- \nAnn\n\nOn Mon, 23 Nov 2026, Bot wrote:\n> Shall I?", "Yes."},
		"quote, signature":   {true, "Yes.\n\nOn Mon, 23 Nov 2026, Bot wrote:\n> Shall I?\n\n-- \nAnn", "Yes."},
		"outlook":            {true, "Yes.\n\n________________________________\nFrom: Bot <bot@example.net>\nSent: Monday\nTo: Ann\nSubject: Lunch\n\nShall I?", "Yes."},
		"outlook in html":    {true, "Yes.\n\n* * *\n\n**Von:** Bot\n**Gesendet:** Montag\n**An:** Ann\n**Betreff:** Essen\n\nSoll ich?", "Yes."},
		"QQ Mail":            {true, "好\n\n------------------&nbsp;原始邮件&nbsp;------------------\n发件人: \"Bot\" <bot@example.org>;\n发送时间: 2026年1月1日(星期四) 上午10:00\n收件人: \"Ann\"<ann@example.org>;\n主题: x\n\n旧", "好"},
		"original message":   {true, "是\n\n-----原始邮件-----\n发件人: Bot\n发送时间: 今天\n收件人: Ann\n主题: 午饭\n\n要吗？", "是"},
		"a bar in Czech":     {true, "Ano\n\n-------- Původní e-mail --------\nOd: Bot <bot@example.net>\nKomu: Ann\nDatum: 1. 1. 2026\nPředmět: x\n\nstarý", "Ano"},
		"a table below it":   {true, "好的\n\n---- 回复的原邮件 ----\n| 发件人 | Bot<bot@example.net> |\n| 日期 | 2026年01月01日 10:00 |\n旧", "好的"},
		"on a phone":         {true, "Yes.\n\nSent from my iPhone\n\n> On 1 Jan 2026, at 10:00, Bot <bot@example.net> wrote:\n> \n> Shall I?", "Yes."},
		"QQ on a phone":      {true, "好\n\n发自我的iPhone\n\n------------------ Original ------------------\nFrom: Bot <bot@example.net>\nDate: Thu,Jan 1,2026 10:00 AM\nTo: Ann <a@b.example>\nSubject: Re: x\n\nold", "好"},
		"a bar of one's own": {true, "Two parts:\n\n--- first part ---\none\n--- second ---\nann@example.org at 10:00", "Two parts:\n\n--- first part ---\none\n--- second ---\nann@example.org at 10:00"},
		"sent from a place":  {true, "It was\nsent from my house", "It was\nsent from my house"},
		"a list, not a head": {true, "From: Berlin\nTo: Paris\nwhen?", "From: Berlin\nTo: Paris\nwhen?"},
	} {
		if got := newest(c.text, c.answers, ""); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestQuotesUs cuts what the agent itself has written, also from a mail that does not say what it answers.
func TestQuotesUs(t *testing.T) {
	t.Parallel()
	const us = "helper@example.org"
	for text, want := range map[string]string{
		"Obrigado!\n\nEm seg., 1 de jan. de 2026 às 10:00, Helper <helper@example.org> escreveu:\n\n> old":            "Obrigado!",
		"好的\n\n在 2026-01-01 10:00:00，\"Helper\" <Helper@example.org> 写道：\n\nold":                                      "好的",
		"Tak\n\nOd: Helper <helper@example.org>\nWysłano: 1 stycznia 2026 10:00\nDo: Ann\nTemat: x\n\nstare":          "Tak",
		"see\n\nOn 1 Jan 2026 at 10:00, Bob <bob@example.org> wrote:\n\n> mail helper@example.org":                    "",
		"> question one\nyes\n> question two\nno":                                                                     "",
		"What does this line mean?\n> ERROR 42: flux":                                                                 "",
		"On 1 Jan 2026 at 10:00, Helper <helper@example.org> wrote:\n> old":                                           "",
		"Ja\n\nOp do 1 jan 2026 om 10:00 schreef Helper <helper@example.org>:\n\n> one\n\nBut what about two?\n> two": "",
	} {
		if want == "" {
			want = text
		}
		if got := newest(text, false, us); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestHead(t *testing.T) {
	long := strings.Repeat("x", 400)
	h, err := readHead([]byte("From: \"Ann\\\" A\" <ANN@Example.org>\r\nMessage-ID: <" + long + "@example.org>\r\nReferences: <a@b> \r\n <c@d>\r\nIn-Reply-To: <e@f> <bad id\r\nSubject: =?utf-8?q?a=0D=0ABcc:_x?=\r\n\r\n"))
	if err != nil || h.from.Address != "ann@example.org" || len(h.id) > maxID || h.threadOf() != "a@b" || strings.Join(h.references, " ") != "a@b c@d e@f" || strings.ContainsAny(h.subject, "\r\n") {
		t.Errorf("%+v, %v", h, err)
	}
	for _, from := range []string{"", "a", "<a b@c>", "\"a;b\"@c", strings.Repeat("a", 200) + "@b"} {
		if h, err := readHead([]byte("From: " + from + "\r\n\r\n")); err == nil {
			t.Errorf("%q is read as %+v", from, h.from)
		}
	}
	for subject, want := range map[string]string{
		"Out of Office AutoReply: Hello": "automatic", "Delivery Status Notification (Failure)": "automatic",
		"Phản hồi tự động: x": "automatic", "תגובה אוטומטית: x": "automatic", "不在のお知らせ": "automatic", "부재중 자동응답": "automatic",
		"Nicht zustellbar: x": "automatic", "退信通知": "automatic", "Poissa": "automatic", "Urlop": "automatic",
		"Frånvaro": "automatic", "Im Urlaub!": "automatic", "外出": "automatic", "Нет в офисе: x": "automatic",
		"ABWESEND - Ann\r\nIn-Reply-To: <a@b>": "automatic", "Ferie\r\nIn-Reply-To: <a@b>": "automatic", "Ferie": "",
		"Re: Urlop": "", "Urlop - pytanie": "",
		"Abwesenheit - Frage zum Antrag": "", "外出先から": "", "Absent students": "",
		"Delivery status of my order": "", "Afwezigheid plannen": "", "不在时怎么办": "",
	} {
		h, err := readHead([]byte("From: a@b\r\nSubject: " + subject + "\r\n\r\n"))
		if err != nil || (h.automatic != "") != (want != "") {
			t.Errorf("%s: %q, %v", subject, h.automatic, err)
		}
	}
	for _, field := range []string{"X-POST-MessageClass: 9; Autoresponder", "X-Precedence: bulk", "X-Loop: a@b",
		"X-GND-Autoresponder: yes", "X-Is-Auto-Reply: True", "X-Mailer: vacation 1.2"} {
		if h, err := readHead([]byte("From: a@b\r\n" + field + "\r\n\r\n")); err != nil || h.automatic == "" {
			t.Errorf("%s: %q, %v", field, h.automatic, err)
		}
	}
	if got := reply("RE: Aw: 回复：Lunch", "Bot"); got != "Re: Lunch" {
		t.Error(got)
	}
}

func FuzzMail(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(mixed, "\n", "\r\n")))
	f.Add([]byte("From: a@b\r\nAuthentication-Results: mx; dmarc=pass (\\)) header.from=\"b\"\r\n\r\n> x\r\n-- \r\n"))
	f.Add([]byte("Content-Type: multipart/alternative; boundary=\"\"\r\n\r\n--\r\n\r\n----"))
	f.Add([]byte("From: =?gbk?B?/w==?= <a@b>\r\nContent-Type: text/html; charset=utf-16\r\n\r\n<table><td><blockquote>"))
	f.Add([]byte("From: a@b\r\nContent-Type: application/ms-tnef\r\n\r\n" + outlook(attribute(1, attBody, "x"), attribute(2, attBegins, ""), attribute(2, attFile, properties(property(propName, typeString, "a"))))))
	f.Add([]byte("From: a@b\r\nContent-Type: application/pkcs7-mime\r\n\r\n" + cms(oidSigned, "x")))
	f.Add([]byte("From: a@b\r\nContent-Type: text/rtf\r\n\r\n{\\rtf1\\ansicpg936 \\'c4\\u-1?{\\*x}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := readHead(raw)
		if err != nil {
			return
		}
		if !validAddress(h.from.Address) || h.id == "" || len(h.id) > maxID || len(h.threadOf()) > maxID || len(h.references) > 21 {
			t.Errorf("head %+v", h)
		}
		proven(h.results, "mx", "b")
		b := readBody(raw, false)
		text := b.text
		if !utf8.ValidString(text+b.attached) || len(b.files) > maxFiles {
			t.Errorf("%q, %d files", text, len(b.files))
		}
		for _, answers := range []bool{false, true} {
			if short := newest(text, answers, ""); len(short) > len(text) || short == "" && strings.TrimSpace(text) != "" {
				t.Errorf("of %q %q is left", text, short)
			}
		}
	})
}

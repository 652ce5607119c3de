package email

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestFrom reads senders as programs write them. No name may make another address the writer.
func TestFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, name, address string }{
		{"ann@example.org <ann@example.org>", "ann@example.org", "ann@example.org"},
		{"Ann [Sales] Lee <ann@example.org>", "Ann [Sales] Lee", "ann@example.org"},
		{"Lee, Ann <ann@example.org>", "Lee, Ann", "ann@example.org"},
		{"=?x-foo?B?QW5u?= <ann@example.org>", "Ann", "ann@example.org"},
		{`"=?utf-8?B?5byg5LiJ?=" <ann@example.org>`, "张三", "ann@example.org"},
		{"\xd5\xc5\xc8\xfd <ann@example.org>", "张三", "ann@example.org"},
		{"张三(Ann <ann@example.org>", "张三(Ann", "ann@example.org"},
		{"Ann <ann@example.org>;", "Ann", "ann@example.org"},
		{"Support: Ann <ann@example.org>", "Support: Ann", "ann@example.org"},
		{`"Ann" < ann@example.org >`, "Ann", "ann@example.org"},
		{`"Ann <ann@example.org>`, "Ann", "ann@example.org"},
		{"Ann <ann@example.org> <ANN@example.org>", "Ann", "ann@example.org"},
		{"ann@example.org;", "", "ann@example.org"},
		{"Eve [victim@example.net] <eve@example.org>", "Eve [victim@example.net]", "eve@example.org"},
		{"<" + strings.Repeat("a", 64) + "@" + strings.Repeat("sub.", 20) + "example.org>", "", strings.Repeat("a", 64) + "@" + strings.Repeat("sub.", 20) + "example.org"},
		{"[Eve <victim@example.net> <eve@example.org>", "", ""},
		{"[a@example.org, b@example.org", "", ""},
	} {
		h, err := readHead([]byte("From: " + c.from + "\r\n\r\n"))
		if c.address == "" {
			if err == nil {
				t.Errorf("%q is read as %+v", c.from, h.from)
			}
		} else if err != nil || h.from.Address != c.address || h.from.Name != c.name {
			t.Errorf("%q: %+v, %v", c.from, h.from, err)
		}
	}
	for from, want := range map[string]string{
		"From: a@b.example\r\nFrom: c@d.example":                                    "a@b.example",
		"From: a@b.example, Bob <c@d.example>":                                      "a@b.example",
		"From: a@b.example, Bob <c@d.example>\r\nSender: Bob <C@d.example>":         "c@d.example",
		"From: a@b.example, Bob <c@d.example>\r\nSender: e@f.example":               "a@b.example",
		"From: Ann a@b.example>":                                                    "a@b.example",
		"From: Ann <a@b.example>\r\nContent-Type: text/plain; charset=ebcdic-cp-us": "a@b.example",
		"From: Ann <a@b.example>\r\nContent-Type: text/plain; charset=unicode":      "a@b.example",
	} {
		h, err := readHead([]byte(from + "\r\n\r\n"))
		if err != nil || h.from.Address != want || h.shared != strings.Contains(from, "c@d.example") {
			t.Errorf("%s: %+v, %v", from, h.from, err)
		}
	}
	if h, err := readHead([]byte(strings.Repeat("x\n", 100_000) + "From: a@b\n\n")); err != nil || h.from.Address != "a@b" {
		t.Errorf("after many lines that are no field: %+v, %v", h, err)
	}
	if h, err := readHead([]byte("no field\r\nAuthentication-Results: mx; dmarc=pass\r\n header.from=b\r\nFrom: a@b\r\n\r\n")); err != nil || len(h.results) > 0 {
		t.Errorf("behind a line that is no field: %+v, %v", h, err)
	}
	if h, err := readHead([]byte("From a@b Mon\r\nReceived: x\r\nno field at all\r\n continued\r\nFrom: a@b\r\n\r\n")); err != nil || h.from.Address != "a@b" {
		t.Errorf("after lines that are no field: %+v, %v", h.from, err)
	}
}

// TestSubject decodes words that are cut within a character, and bytes that nothing describes.
func TestSubject(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"=?utf-8?B?5L2g5aU=?= =?utf-8?B?vSE=?=":      "你好!",
		"=?gb2312?B?xOM=?=\r\n =?GB2312*zh?B?usM=?=": "你好",
		"Re: =?utf-8?Q?na=C3=AFve_x?= and":           "Re: naïve x and",
		"=?utf-8?B?5L2g5aW9":                         "=?utf-8?B?5L2g5aW9",
		"\xc4\xe3\xba\xc3":                           "你好",
		"=?utf-8?B?5L2g 5aW9?=":                      "你好",
	} {
		if h, err := readHead([]byte("From: a@b\r\nSubject: " + subject + "\r\n\r\n")); err != nil || h.subject != want {
			t.Errorf("%q: %q, %v", subject, h.subject, err)
		}
	}
}

const two = "--%s\nContent-Type: text/plain\n\nplain question\n--%s\nContent-Type: text/html\n\n<p>html question</p>\n--%s--\n"

func alternatives2(boundary string) string { return strings.ReplaceAll(two, "%s", boundary) }

// TestBroken reads the text of mails that break a rule.
func TestBroken(t *testing.T) {
	t.Parallel()
	const attachment = "--r\nContent-Type: text/plain\n\nsee\n--r\nContent-Type: application/zip; name=a.zip\nContent-Transfer-Encoding: base64\n\n"
	for name, c := range map[string]struct{ mail, text, file string }{
		"boundary without quotes":    {"Content-Type: multipart/alternative; boundary=----=_Part_1_2.3\n\n" + alternatives2("----=_Part_1_2.3"), "plain question", ""},
		"boundary with a colon":      {"Content-Type: multipart/alternative; boundary=abc:def\n\n" + alternatives2("abc:def"), "plain question", ""},
		"boundary with open quotes":  {"Content-Type: multipart/alternative; boundary=\"xyz\n\n" + alternatives2("xyz"), "plain question", ""},
		"boundary twice":             {"Content-Type: multipart/alternative; boundary=x; boundary=y\n\n" + alternatives2("x"), "plain question", ""},
		"no boundary":                {"Content-Type: multipart/alternative\n\npreamble\n" + alternatives2("x1"), "plain question", ""},
		"another boundary":           {"Content-Type: multipart/alternative; boundary=other\n\n" + alternatives2("x1"), "plain question", ""},
		"empty parameter":            {"Content-Type: multipart/alternative; ; boundary=xyz; charset\n\n" + alternatives2("xyz"), "plain question", ""},
		"empty value":                {"Content-Type: multipart/alternative; charset=; boundary=xyz\n\n" + alternatives2("xyz"), "plain question", ""},
		"no last mark":               {"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nthe text", "the text", ""},
		"no parts":                   {"Content-Type: multipart/mixed; boundary=x\n\nthe text", "the text", ""},
		"part without a header":      {"Content-Type: multipart/mixed; boundary=x\n\n--x\nthe text: all\nof it, too\n--x--", "of it, too", ""},
		"line in a part's header":    {"Content-Type: multipart/mixed; boundary=x\n\n--x\nbroken line\nContent-Type: text/plain\n\nthe text\n--x--", "the text", ""},
		"trailing parameter":         {"Content-Type: text/html; charset=utf-8; foo\n\n<p>Hello <b>you</b></p>", "Hello **you**", ""},
		"a page as plain text":       {"Content-Type: text/plain\n\n<html><body><p>Hello <b>you</b></p></body></html>", "Hello **you**", ""},
		"old type":                   {"Content-Type: text\n\nhello", "hello", ""},
		"unknown text":               {"Content-Type: text/x-web-markdown; charset=utf-8\n\nhello", "hello", ""},
		"only a placeholder":         {"Content-Type: multipart/alternative; boundary=x\n\n--x\n\nThis mail needs an HTML viewer.\n--x\nContent-Type: text/html\n\n<p>Can you ship on Monday?</p>\n--x--", "Can you ship on Monday?", ""},
		"gbk without a charset":      {"\n\xc7\xeb\xbf\xb4\xb8\xbd\xbc\xfe", "请看附件", ""},
		"cp850":                      {"Content-Type: text/plain; charset=cp850\n\ncaf\x82", "café", ""},
		"charset of the page":        {"Content-Type: text/html\n\n<meta charset=gb2312><p>\xc7\xeb\xbf\xb4", "请看", ""},
		"other charset than said":    {"Content-Type: text/plain; charset=utf-8\n\nk\xe4se", "käse", ""},
		"sloppy quoted-printable":    {"Content-Transfer-Encoding: quoted-printable\n\n100=% of =ZZ=e4=\n and more =", "100=% of =ZZä and more", ""},
		"escape in quoted text":      {"Content-Type: text/plain; charset=iso-2022-jp\nContent-Transfer-Encoding: quoted-printable\n\n\x1b$B$3$s\x1b(B", "こん", ""},
		"footer behind base64":       {"Content-Transfer-Encoding: base64\n\nSGVsbG8gd29ybGQ=\n-- \nThis footer was added.", "Hello world", ""},
		"base64 without an end":      {"Content-Transfer-Encoding: base64\n\nSGVsbG8gd29ybGQ", "Hello world", ""},
		"padding in the middle":      {"Content-Transfer-Encoding: base64\n\nSGVsbG8=\nIHdvcmxk\n", "Hello world", ""},
		"no base64 at all":           {"Content-Transfer-Encoding: base64\n\nHello, this is text.", "Hello, this is text.", ""},
		"encoding with a space":      {"Content-Transfer-Encoding:  BASE64 ;\n\nSGVsbG8=", "Hello", ""},
		"unknown encoding":           {"Content-Transfer-Encoding: x-uuencode\n\nhello", "hello", ""},
		"garbage in a file":          {"Content-Type: multipart/mixed; boundary=r\n\n" + attachment + "UEsD!!BA==\n--r--", "see", "PK\x03\x04"},
		"same boundary within":       {"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: multipart/alternative;\n boundary=x\n\n" + alternatives2("x") + "\n--x\nContent-Type: application/pdf; name=a.pdf\n\n%PDF-\n--x--", "plain question", "%PDF-"},
		"parts behind the last mark": {"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nthe text\n--x--\n--x\nContent-Type: application/pdf; name=a.pdf\n\n%PDF-\n--x--", "the text", "%PDF-"},
		"parts in base64":            {"Content-Type: multipart/mixed; boundary=x\nContent-Transfer-Encoding: base64\n\nLS14DQoNCnRoZSBxdWVzdGlvbg0KLS14LS0=", "the question", ""},
		"comment":                    {"Content-Type: text/plain (said); charset=gbk\n\n\xce\xca\xcc\xe2", "问题", ""},
		"flowing lines":              {"Content-Type: text/plain; format=flowed\n\nA long \nline.\n\n From me\n> quoted \n> too\nend \n-- \nAnn", "A long line.\n\nFrom me\n> quoted too\nend \n-- \nAnn", ""},
		"flowing without spaces":     {"Content-Type: text/plain; format=flowed; delsp=yes\n\n中文的 \n句子。", "中文的句子。", ""},
		"nothing to see beside it":   {"Content-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain; charset=utf-8\n\n\u00a0\n\u200b\n--x\nContent-Type: text/html\n\n<p>The question?</p>\n--x--", "The question?", ""},
		"hidden text":                {"Content-Type: text/html\n\n<div style=\"display: none\">hidden <b hidden>x</b></div><p>seen</p>", "seen", ""},
		"encoded in silence":         {"\ncaf=C3=A9 and =E4=BD=\n=A0=E5=A5=BD", "café and 你好", ""},
		"base64 in silence":          {"\n" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("long enough ", 8)+"and 中文")), strings.Repeat("long enough ", 8) + "and 中文", ""},
		"a short code":               {"\nSGVsbG8gd29ybGQ=", "SGVsbG8gd29ybGQ=", ""},
		"uuencoded file":             {"Content-Type: multipart/mixed; boundary=r\n\n" + strings.Replace(attachment, "base64", "x-uuencode", 1) + "begin 644 a.zip\n%:&5L;&\\`\n`\nend\n--r--", "see", "hello"},
		"base64 of addresses":        {"Content-Type: multipart/mixed; boundary=r\n\n" + attachment + "-_8=\n--r--", "see", "\xfb\xff"},
		"encrypted":                  {"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nMIIB", "[The mail, or a part of it, is encrypted or sealed, and cannot be read here.]", "0\x82\x01"},
		"late charset of a page":     {"Content-Type: text/html\n\n<style>" + strings.Repeat("x", 1500) + "</style><meta charset=gbk>\xc7\xeb\xbf\xb4\xb8\xbd\xbc\xfe\xc0\xef\xb5\xc4\xb1\xa8\xbc\xdb\xb5\xa5", "请看附件里的报价单", ""},
		"page in Chinese":            {"Content-Type: text/html\n\n<b> <i> \xc7\xeb\xbf\xb4\xb8\xbd\xbc\xfe\xc0\xef\xb5\xc4\xb1\xa8\xbc\xdb\xb5\xa5 </i> </b>", "***请看附件里的报价单***", ""},
		"ISO-2022-CN":                {"Content-Type: text/plain; charset=iso-2022-cn\n\n\x1b$)A\x0eNJLb\x0f end", "问题 end", ""},
		"encoding with a comment":    {"Content-Transfer-Encoding: base64 (said)\n\nSGVsbG8gd29ybGQ=", "Hello world", ""},
		"two words for one":          {"Content-Transfer-Encoding: Quoted Printable\n\ncaf=C3=A9", "café", ""},
		"a list of encodings":        {"Content-Transfer-Encoding: quoted-printable, 8bit\n\ncaf=C3=A9", "café", ""},
		"two encodings":              {"Content-Transfer-Encoding: 7bit\nContent-Transfer-Encoding: BASE-64\n\nSGVsbG8gd29ybGQ=", "Hello world", ""},
		"base64 that says 7bit":      {"Content-Transfer-Encoding: 7bit\n\n" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("long enough ", 8)+"and 中文")), strings.Repeat("long enough ", 8) + "and 中文", ""},
		"text with a name":           {"Content-Type: text/plain; name=message.txt\nContent-Disposition: attachment\n\nthe question", "the question", ""},
		"page with a name":           {"Content-Type: multipart/related; boundary=r\n\n--r\nContent-Type: text/html; name=body.html\n\n<p>the question</p>\n--r--", "the question", ""},
		"page with a name, second":   {"Content-Type: multipart/mixed; boundary=r\n\n--r\n\n\n--r\nContent-Type: text/html; name=body.html\n\n<p>the question</p>\n--r--", "the question", ""},
		"second text with a name":    {"Content-Type: multipart/mixed; boundary=r\n\n--r\n\nsee\n--r\nContent-Type: text/plain; name=a.txt\n\nthe file\n--r--", "see", "the file"},
		"rich text":                  {"Content-Type: text/rtf\n\n{\\rtf1 the {\\b question}}", "the question", ""},
		"XHTML":                      {"Content-Type: application/xhtml+xml\n\n<html><body><p>the question</p></body></html>", "the question", ""},
		"file within the text":       {"\nsee file\n\nbegin 644 a.txt\n%:&5L;&\\`\n`\nend\n", "see file", "hello"},
		"PGP within the text":        {"\n-----BEGIN PGP MESSAGE-----\n\nhQ\n-----END PGP MESSAGE-----", unreadable, ""},
		"long file name":             {"Content-Type: multipart/mixed; boundary=r\n\n--r\n\nsee\n--r\nContent-Type: image/png\nContent-Disposition: attachment; foo; filename*0*=UTF-8''%E5%9B%BE; filename*1*=%E7%89%87.png\n\nx\n--r--", "see", "x"},
	} {
		b := readBody([]byte("Subject: x\n"+c.mail), false)
		if b.text != c.text && !strings.HasSuffix(b.text, c.text) {
			t.Errorf("%s: %+v", name, b)
		}
		if c.file != "" && (len(b.files) != 1 || string(b.files[0].Data) != c.file) {
			t.Errorf("%s: %+v", name, b.files)
		}
	}
	if h, err := readHead([]byte("From: a@b\rContent-Type: text/plain\r\rone\rtwo")); err != nil || h.from.Address != "a@b" {
		t.Errorf("line ends of old Macs: %+v, %v", h, err)
	}
	for _, from := range []string{"=?UTF-8?Q?Ann_=3Ca@b.example=3E?=", "'a@b.example'", `"Ann" <<a@b.example>>`} {
		if h, err := readHead([]byte("\r\nFrom: " + from + "\n\nx")); err != nil || h.from.Address != "a@b.example" {
			t.Errorf("%s: %+v, %v", from, h, err)
		}
	}
	if h, err := readHead([]byte("From: a@b\nContent-Type: text/plain; charset=utf-16\n\nx")); err != nil || h.from.Address != "a@b" {
		t.Errorf("a header before a text of two bytes a sign: %+v, %v", h, err)
	}
	b := readBody([]byte("Content-Type: multipart/mixed; boundary=r\n\n--r\n\nplease answer\n--r\nContent-Type: message/rfc822\nContent-Disposition: attachment; filename=Order.eml\n\nFrom: Bob <bob@example.com>\nSubject: =?gbk?B?xOO6ww==?=\n\nWhere is it?\n--r--"), false)
	if b.text != "please answer" || b.attached != "[Attached mail: Order.eml]\nFrom: Bob <bob@example.com>\nSubject: 你好\n\nWhere is it?" {
		t.Errorf("%q, %q", b.text, b.attached)
	}
}

// TestFileNames reads the names of files in all forms.
func TestFileNames(t *testing.T) {
	t.Parallel()
	for disposition, want := range map[string]string{
		"filename*=GB2312''%C4%E3%BA%C3.pdf":                   "你好.pdf",
		"filename*=%E4%BD%A0.pdf":                              "你.pdf",
		"filename*0=\"long \"; filename*1=\"name.pdf\"":        "long name.pdf",
		"filename*1*=b%20c.pdf; filename*0*=utf-8'en'a":        "ab c.pdf",
		"filename*0*=utf-8''%E4%BD; filename*1*=%A0.pdf":       "你.pdf",
		"filename=\"old.pdf\"; filename*=UTF-8''%E4%BD%A0.pdf": "你.pdf",
		"filename*=UTF-8''100%.pdf":                            "100%.pdf",
		"filename=my report.pdf":                               "my report.pdf",
		"filename=\"=?gbk?B?xOO6ww==?=.pdf\"":                  "你好.pdf",
		"filename=\"\xc4\xe3\xba\xc3.pdf\"":                    "你好.pdf",
		"filename*0*=utf-8''a; filename*2*=c.pdf":              "a",
		"filename*0*=utf-8''..%2F..%2Fetc%2Fpasswd":            "passwd",
		"filename*=utf-8''a%0D%0Ab.txt":                        "a b.txt",
	} {
		b := readBody([]byte("Content-Type: multipart/mixed; boundary=r\n\n--r\nContent-Disposition: attachment; "+disposition+"\n\nx\n--r--"), false)
		if len(b.files) != 1 || b.files[0].Name != want {
			t.Errorf("%s: %+v", disposition, b.files)
		}
	}
}

package charset_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/charset"
)

// TestDecode reads texts whose charset is said, said wrongly, or not said.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, label, want string }{
		{"plain", "", "plain"},
		{"naïve", "utf-8", "naïve"},
		{"naïve", "iso-8859-1", "naïve"},
		{"\xef\xbb\xbfa", "gbk", "a"},
		{"\xff\xfeh\x00i\x00", "", "hi"},
		{"\xfe\xff\x00h\x00i", "utf-16", "hi"},
		{"caf\xe9", "us-ascii", "café"},
		{"k\xe4se", "utf-8", "käse"},
		{"Gr\xf6\xdfe und \xdcbung", "", "Größe und Übung"},
		{"\xc4\xe3\xba\xc3", "", "你好"},
		{"\xc7\xd1\xb1\xb9\xbe\xee", "uhc", "한국어"},
		{"\xc4\xe3\xba\xc3", "x-foo", "你好"},
		{"\xd3\xc3Go\xd3\xef\xd1\xd4", "utf-8", "用Go语言"},
		{"\xc7\xeb\xbf\xb4\xb8\xbd\xbc\xfe", "cp936", "请看附件"},
		{"\xc7\xeb", "ISO-8859-1", "Çë"},
		{"\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd", "cp932", "こんにちは"},
		{"\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd", "", "こんにちは"},
		{"\x1b$B$3$s$K$A$O\x1b(B", "", "こんにちは"},
		{"\x1b$)C\x0e>H3g\x0f!", "iso-2022-kr", "안녕!"},
		{"\xcf\xf0\xe8\xe2\xe5\xf2", "", "Привет"},
		{"\xd0\xd2\xc9\xd7\xc5\xd4", "koi8-r", "привет"},
		{"\x9ei\x9fli I\xa7d\x8dr", "cp857", "Şişli Iğdır"},
		{"\x9ei\x9fli", "IBM857", "Şişli"},
		{"\x99\x8c\x85\x8d", "DOS-862", "שלום"},
		{"10 \xd5", "ibm00858", "10 €"},
		{"Za\xfd\x97\xb8\x8d", "x-mac-ce", "Zażółć"},
		{"\xba\xe1\xec\xe8\xed\xdb\xf2\xe1", "x-mac-greek", "Καλημέρα"},
		{"caf\x82", "cp850", "café"},
		{"caf\x82", "cp437", "café"},
		{"Hi +ZeVnLIqe-+-", "utf-7", "Hi 日本語+"},
		{"\x80 5", "cp1252", "€ 5"},
		{"\xeb\xcf\xc7\xc4\xc1 \xd7\xd9 \xcf\xd4\xd0\xd2\xc1\xd7\xc9\xd4\xc5 \xda\xc1\xcb\xc1\xda", "", "Когда вы отправите заказ"},
		{"h\x00i\x00`O}Y", "", "hi你好"},
		{"\x00h\x00i", "", "hi"},
		{"a line with a fault\x00 in it\n", "", "a line with a fault\x00 in it\n"},
		{"\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7\x95\x32\x82\x36", "", "你好世界𠀀"},
		{"\xe3\xd1\xcd\xc8\xc7 \xc8\xc7\xe1\xda\xc7\xe1\xe3\xa1 \xe5\xd0\xc7 \xe3\xe1\xdd \xc7\xce\xca\xc8\xc7\xd1", "",
			"مرحبا بالعالم، هذا ملف اختبار"},
		{"\xca\xe1\xeb\xe7\xec\xdd\xf1\xe1 \xea\xfc\xf3\xec\xe5, \xe1\xf5\xf4\xfc \xe5\xdf\xed\xe1\xe9 \xdd\xed\xe1 \xe1\xf1\xf7\xe5\xdf\xef", "",
			"Καλημέρα κόσμε, αυτό είναι ένα αρχείο"},
		{"Za\xbf\xf3\xb3\xe6 g\xea\x9cl\xb9 ja\x9f\xf1, prosz\xea. \xa3\xf3d\x9f i Krak\xf3w s\xb9 miastami", "",
			"Zażółć gęślą jaźń, proszę. Łódź i Kraków są miastami"},
		{"Za\xbf\xf3\xb3\xe6 g\xea\xb6l\xb1 ja\xbc\xf1, prosz\xea. \xa3\xf3d\xbc i Krak\xf3w s\xb1 miastami", "",
			"Zażółć gęślą jaźń, proszę. Łódź i Kraków są miastami"},
		{"\xf9\xec\xe5\xed \xf2\xe5\xec\xed, \xe6\xe4 \xf7\xe5\xe1\xf5 \xe1\xe3\xe9\xf7\xe4", "",
			"שלום עולם, זה קובץ בדיקה"},
		{"\x8f\xe0\xa8\xa2\xa5\xe2, \xed\xe2\xae \xae\xa1\xeb\xe7\xad\xeb\xa9 \xe0\xe3\xe1\xe1\xaa\xa8\xa9 \xe2\xa5\xaa\xe1\xe2", "",
			"Привет, это обычный русский текст"},
		{"\xf0\xe0\xe1\xee\xf2\xe0\xe5\xf2", "",
			"работает"},
		{"r\xe9\xe9lu, cr\xe9\xe9e, No\xebl, fran\xe7ais, d\xe9j\xe0, o\xf9, \xe9l\xe8ve", "",
			"réélu, créée, Noël, français, déjà, où, élève"},
		{"\xa4\xb3\xa4\xf3\xa4\xcb\xa4\xc1\xa4\xcf", "", "こんにちは"},
		{"\xb0\xa8\xbb\xe7 \xc7\xd5\xb4\xcf\xb4\xd9", "", "감사 합니다"},
		{"你好，请看", "gb2312", "你好，请看"},
		{"привет", "windows-1251", "привет"},
		{"\xc1\xaa\xcd\xa8", "gbk", "联通"}, // also UTF-8
	} {
		if got, _ := charset.Decode([]byte(c.data), c.label); got != c.want {
			t.Errorf("%q as %q: %q, want %q", c.data, c.label, got, c.want)
		}
	}
	page := `<html><head><meta http-equiv="Content-Type" content="text/html; charset=gb2312"></head>` + "\xc7\xeb"
	if got, _ := charset.DecodeHTML([]byte(page), ""); !strings.HasSuffix(got, "请") {
		t.Errorf("the page is %q", got)
	}
	if got, _ := charset.DecodeHTML([]byte(`<meta charset="gb2312"><p>你好`), "utf-8"); !strings.HasSuffix(got, "你好") {
		t.Errorf("the page that was sent as UTF-8 is %q", got)
	}
	for _, c := range []struct{ page, label, want string }{
		{"<meta charset='big5'><p>\xa4\xa4\xa4\xe5\xb4\xfa\xb8\xd5", "us-ascii", "中文測試"},
		{"<meta charset=big5><p>\xa4\xa4\xa4\xe5\xb4\xfa\xb8\xd5", "utf-8", "中文測試"},
		{`<?xml version="1.0" encoding="iso-8859-2"?><p>` + "za\xbf\xf3\xb3\xe6", "", "zażółć"},
	} {
		if got, _ := charset.DecodeHTML([]byte(c.page), c.label); !strings.HasSuffix(got, c.want) {
			t.Errorf("the page as %q is %q", c.label, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("+AAAA-\x1b$)C\x0e"), "utf-7")
	f.Add([]byte("\xc4\xe3"), "gbk")
	f.Fuzz(func(t *testing.T, data []byte, label string) {
		text, _ := charset.Decode(data, label)
		if strings.ToValidUTF8(text, "") != text {
			t.Errorf("%q is no UTF-8", text)
		}
	})
}

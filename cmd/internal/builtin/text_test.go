package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCodes checks that texts are read in their encoding and keep it.
func TestCodes(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{
		"gbk":   "\xb1\xe0\xba\xc5,\xd0\xd5\xc3\xfb\r\n1,\xd5\xc5\xc8\xfd\r\n", // 编号,姓名 1,张三
		"utf16": "\xff\xfeh\x00i\x00\n\x00",
		"latin": "Caf\xe9 na\xefve, and many letters besides\n",
		"bom":   "\xef\xbb\xbfa,b\n",
		"bad":   strings.Repeat("正常\n", 9) + "\xff\n",
		"bin":   "\x01\x02\xff\xfe\xfd",
	})
	w.want("read_file", `{"path":"gbk"}`, "编号,姓名\r\n1,张三\r\n\n(encoded in GB18030; edits keep the encoding)")
	w.want("edit_file", `{"path":"gbk","old":"1,张三\n","new":"1,张三😀\n2,李\n"}`, "Replaced 1")
	w.want("search_text", `{"pattern":"李$"}`, "gbk:3: 2,李")
	w.want("read_file", `{"path":"utf16"}`, "hi\n\n(encoded in UTF-16")
	w.want("edit_file", `{"path":"utf16","old":"hi","new":"你"}`, "Replaced 1")
	w.want("read_file", `{"path":"latin"}`, "Café naïve")
	w.want("edit_file", `{"path":"latin","old":"Café","new":"Thé"}`, "Replaced 1")
	w.want("edit_file", `{"path":"latin","old":"Thé","new":"茶"}`, "! latin: the text holds characters that Windows-1252 does not have; write_file writes them, in UTF-8")
	w.want("append_file", `{"path":"gbk","content":"3,王\n"}`, "Added 6 bytes to gbk, which now has")
	w.want("append_file", `{"path":"utf16","content":"a\n"}`, "Added 4 bytes")
	w.want("append_file", `{"path":"latin","content":"茶"}`, "! latin: the text holds characters that Windows-1252 does not have")
	w.want("append_file", `{"path":"bin","content":"x"}`, "! bin is a binary file")
	w.want("write_file", `{"path":"bom","content":"c\n"}`, "Wrote 5 bytes to bom.")
	w.want("append_file", `{"path":"bom","content":"d\n"}`, "Added 2 bytes")
	w.want("read_file", `{"path":"bad"}`, "正常\n\uFFFD\n")
	w.want("edit_file", `{"path":"bad","old":"\n正常\n正常\n正常\n正常\n正常\n正常\n正常\n正常\n","new":"\n"}`, "Replaced 1")
	w.want("read_file", `{"path":"bin"}`, "! bin is a binary file of 5 bytes, or text in an unknown encoding")
	for name, want := range map[string]string{
		"gbk":   "\xb1\xe0\xba\xc5,\xd0\xd5\xc3\xfb\r\n1,\xd5\xc5\xc8\xfd\x94\x39\xfc\x36\r\n2,\xc0\xee\r\n3,\xcd\xf5\r\n",
		"utf16": "\xff\xfe\x60\x4f\n\x00a\x00\n\x00", "latin": "Th\xe9 na\xefve, and many letters besides\n", "bom": "\xef\xbb\xbfc\nd\n", "bad": "正常\n\xff\n",
	} {
		if got := w.text(name); got != want {
			t.Errorf("%s became %q, want %q", name, got, want)
		}
	}
}

// TestNearest checks that a failed edit says enough to correct it.
func TestNearest(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"main.go": "package main\n\nfunc main() {\n\tif x == 1 {\n\t\tsay(\"hello\")\n\t}\n\tif y == 1 {\n\t\tsay(\"hello\")\n\t}\n}\n", "说明.md": "# 安装\n\n请先安装 Go（1.26 或更高）。\n"})
	for old, says := range map[string]string{
		"say(“hello”)":                            "from line 5:\n\t\tsay(\"hello\")",
		"if y == 1 {\n    say(\"hallo\")\n}":      "from line 7:\n\tif y == 1 {\n\t\tsay(\"hello\")\n\t}",
		"func Main() error {":                     "from line 3:\nfunc main() {",
		"say(\"hello\")":                          "occurs 2 times in main.go, in lines 5, 8; add lines",
		"something that is nothing like all that": "! the old text does not occur in main.go",
	} {
		args, _ := json.Marshal(map[string]string{"path": "main.go", "old": old, "new": "x"})
		if got := w.call("edit_file", string(args)); !strings.HasPrefix(got, "! ") || !strings.HasSuffix(got, says) && !strings.Contains(got, says) {
			t.Errorf("%q: %s", old, got)
		}
	}
	w.want("edit_file", `{"path":"说明.md","old":"请先安装 Go(1.26或更高)","new":"x"}`, "! the old text does not occur in 说明.md; closest match, from line 3:\n请先安装 Go（1.26 或更高）。")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{
		"a.go": "one\ntwo\nthree\nfour\nfive\nsix\nseven\n", "b.ts": "two\n", "c.tsx": "two", "d/e.md": "two\n",
		"long": strings.Repeat("x", 500_000) + "needle" + strings.Repeat("y", 500_000), "big.log": strings.Repeat("a line of a log\n", 100_000) + "the last two\n",
	})
	w.want("search_text", `{"pattern":"t(wo|hree)|six","files":"*.go","around":1}`, "a.go-1- one\na.go:2: two\na.go:3: three\na.go-4- four\na.go-5- five\na.go:6: six\na.go-7- seven")
	w.want("search_text", `{"pattern":"one|seven","files":"*.go","around":1}`, "a.go:1: one\na.go-2- two\n--\na.go-6- six\na.go:7: seven")
	w.want("search_text", `{"pattern":"^two","files":"*.{ts,tsx}"}`, "b.ts:1: two\nc.tsx:1: two")
	w.want("search_text", `{"pattern":"two","files":"big.log"}`, "big.log:100001: the last two")
	w.want("search_text", `{"pattern":"needle"}`, "xxxneedleyyy")
	w.want("search_text", `{"pattern":"two","path":"none"}`, "! there is no file or folder \"none\"")
	w.want("find_files", `{"pattern":"**/*.{md,ts}"}`, "b.ts\nd/e.md")
	w.want("find_files", `{"pattern":"d"}`, "d/")
	w.want("find_files", `{"pattern":"./d/*"}`, "d/e.md")
	w.want("find_files", `{"pattern":"`+strings.Repeat("{a,b}", 9)+`"}`, "! {a,b}")
}

// TestBounds checks that no result is larger than a turn keeps, and that a cut result
// says so at its end.
// TestNoHalfSecrets: a long line is cut after its secrets are hidden, not within one.
func TestNoHalfSecrets(t *testing.T) {
	t.Parallel()
	for _, at := range []int{100, 180, 230, 280, 30<<10 - 40} {
		w := open(t, map[string]string{"long": strings.Repeat("a", at) + password + strings.Repeat("b", 40<<10)})
		for tool, args := range map[string]string{"read_file": `{"path":"long"}`, "search_text": `{"pattern":"tr0|aaab","path":"long"}`} {
			if got := w.call(tool, args); strings.Contains(got, "tr0") || strings.Contains(got, "dor") {
				t.Errorf("%s shows a part of the secret after %d bytes", tool, at)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"wide": strings.Repeat("宽", 200_000), "lines": strings.Repeat(strings.Repeat("长", 90)+"\n", 3000), "empty": ""})
	for i := range 600 {
		w.put(fmt.Sprintf("d/%03d%s", i, strings.Repeat("名", 80)), "hit\n"+strings.Repeat("x", 400))
	}
	for call, says := range map[string]string{
		`read_file {"path":"wide"}`:                      "line 1 has 600000 bytes and is cut: search_text finds what is in it)",
		`read_file {"path":"lines"}`:                     "(lines 1 to 113 of 3000; read on with start 114)",
		`read_file {"path":"lines","start":2999}`:        "(lines 2999 to 3000 of 3000)",
		`list_dir {"path":"d"}`:                          " more; find_files finds by name)\n",
		`find_files {"pattern":"**"}`:                    "there are more: narrow pattern or path)",
		`search_text {"pattern":"."}`:                    "there are more)",
		`search_text {"pattern":"hit","around":10}`:      "there are more)",
		`diff_files {"from":"lines","to":"empty"}`:       "read_file reads the rest)",
		`edit_file {"path":"wide","old":"宽x","new":"x"}`: "",
	} {
		name, args, _ := strings.Cut(call, " ")
		if got := w.call(name, args); len(got) > 32<<10 || !strings.HasSuffix(got, says) {
			t.Errorf("%s gives %d bytes that end in %q", call, len(got), got[max(0, len(got)-200):])
		}
	}
}

// TestWebP checks that pictures that no model accepts are not shown.
func TestWebP(t *testing.T) {
	t.Parallel()
	picture := func(kind string, head ...byte) string {
		return "RIFF\x00\x00\x00\x00WEBP" + kind + "\x00\x00\x00\x00" + string(head) + strings.Repeat("\x00", 20)
	}
	w := open(t, map[string]string{
		"vp8.webp": picture("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0x40, 1, 0xf0, 0), "vp8l.webp": picture("VP8L", 0x2f, 0x3f, 0xc1, 0x3b, 0),
		"vp8x.webp": picture("VP8X", 0, 0, 0, 0, 0x3f, 1, 0, 0xef, 0, 0), "wide.webp": picture("VP8X", 0, 0, 0, 0, 0xff, 0x3e, 0, 0, 0, 0), "cut.webp": picture("VP8X")[:18],
		"cut.png": "\x89PNG\r\n\x1a\n\x00\x00",
	})
	for _, name := range []string{"vp8.webp", "vp8l.webp", "vp8x.webp"} {
		w.want("read_image", `{"path":"`+name+`"}`, "webp, 320 x 240 pixels")
	}
	w.want("read_image", `{"path":"wide.webp"}`, "! wide.webp: webp, 16128 x 1 pixels, 50 bytes; pictures up to 3 MiB and 8000 pixels on a side")
	w.want("read_image", `{"path":"cut.webp"}`, "! cut.webp is a damaged picture")
	w.want("read_image", `{"path":"cut.png"}`, "! cut.png is a damaged picture")
}

// FuzzEdit checks that an edit changes only what it says, whatever the file contains.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"a one b\r\n", "\xff\xfeo\x00n\x00e\x00", "\xc4\xe3 one \xba\xc3", "caf\xe9 one", "\xef\xbb\xbfone", "one\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		w := open(t, map[string]string{"f": string(raw)})
		before := w.call("read_file", `{"path":"f"}`)
		if got := w.call("edit_file", `{"path":"f","old":"one","new":"öne"}`); strings.HasPrefix(got, "! ") {
			if w.text("f") != string(raw) {
				t.Errorf("%q was changed by a failure: %s", raw, got)
			}
			return
		}
		if got := w.call("edit_file", `{"path":"f","old":"öne","new":"one"}`); strings.HasPrefix(got, "Replaced 1 ") && w.text("f") != string(raw) {
			t.Errorf("%q (%s) became %q", raw, before, w.text("f"))
		}
		if entries, _ := os.ReadDir(filepath.Join(w.dir)); len(entries) != 1 {
			t.Errorf("there are %v", entries)
		}
	})
}

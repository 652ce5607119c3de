package email

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestSigned reads what is signed, as OpenSSL writes it: within the signature, whole or in pieces (-stream),
// and beside it.
func TestSigned(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"opaque", "stream", "clear"} {
		raw, err := os.ReadFile("testdata/" + name + ".eml")
		if err != nil {
			t.Fatal(err)
		}
		b := readBody(raw, false)
		if b.text != "The signed question: 价格是多少？" || len(b.files) != 1 || b.files[0].Name != "a.csv" || string(b.files[0].Data) != "a,b" {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// der writes an element of ASN.1.
func der(tag byte, parts ...string) string {
	body := strings.Join(parts, "")
	return string([]byte{tag, 0x82, byte(len(body) >> 8), byte(len(body))}) + body
}

func cms(oid, content string) string {
	inside := der(0x30, der(6, "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"), der(0xa0, der(4, content)))
	return der(0x30, der(6, oid), der(0xa0, der(0x30, der(2, "\x01"), der(0x31), inside)))
}

// TestSealed reads the messages of S/MIME that need no key, and says of the others that they are sealed.
func TestSealed(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write([]byte("Content-Type: text/plain\n\nthe question"))
	_ = w.Close()
	signed := cms(oidSigned, "Content-Type: text/plain\n\nthe question")
	deep := strings.Repeat("\x30\x80", 100_000)
	for name, c := range map[string]struct{ kind, data, text string }{
		"signed":             {"application/pkcs7-mime; smime-type=signed-data", signed, "the question"},
		"signed, cut":        {"application/pkcs7-mime", signed[:len(signed)-4], "the ques"},
		"of a general type":  {"application/octet-stream; name=smime.p7m", signed, "the question"},
		"signed twice":       {"application/x-pkcs7-mime", cms(oidSigned, "Content-Type: application/pkcs7-mime\n\n"+signed), "the question"},
		"compressed":         {"application/pkcs7-mime; smime-type=compressed-data", cms(oidCompressed, packed.String()), "the question"},
		"base64 in silence":  {"application/pkcs7-mime", base64.StdEncoding.EncodeToString([]byte(signed)), "the question"},
		"encrypted":          {"application/pkcs7-mime", cms("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03", "x"), unreadable},
		"certificates alone": {"application/pkcs7-mime", cms(oidSigned, ""), unreadable},
		"nested deeply":      {"application/pkcs7-mime", deep, unreadable},
		"garbage":            {"application/pkcs7-mime", "\x30\x84\xff\xff\xff\xff", unreadable},
	} {
		b := readBody([]byte("Content-Type: "+c.kind+"\n\n"+c.data), false)
		if b.text != c.text || (c.text == unreadable) != (len(b.files) == 1) {
			t.Errorf("%s: %q, %d files", name, b.text, len(b.files))
		}
	}
}

// outlook writes a winmail.dat of attributes: of the message, or of a file if file says so.
func outlook(attributes ...string) string {
	return tnefBegin + "\x01\x00" + strings.Join(attributes, "")
}

func attribute(level byte, name int, value string) string {
	head := append([]byte{level}, binary.LittleEndian.AppendUint32(nil, uint32(name))...)
	return string(binary.LittleEndian.AppendUint32(head, uint32(len(value)))) + value + "\x00\x00"
}

func properties(list ...string) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(list)))) + strings.Join(list, "")
}

func property(name, kind int, value string) string {
	head := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(kind)), uint16(name))
	if kind != 3 {
		head = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(head, 1), uint32(len(value)))
	}
	return string(head) + value + strings.Repeat("\x00", even(len(value))-len(value))
}

func utf16le(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text + "\x00")) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// TestOutlook reads the text and the files in a winmail.dat.
func TestOutlook(t *testing.T) {
	t.Parallel()
	const binaryType, number = 0x102, 3
	body := func(text string) string {
		return attribute(1, attProperties, properties(property(propBody, typeUnicode, utf16le(text))))
	}
	file := attribute(2, attBegins, "") + attribute(2, attTitle, "REPORT~1.TXT\x00") + attribute(2, attData, "the report") +
		attribute(2, attFile, properties(property(propLongName, typeUnicode, utf16le("报告.txt")), property(propKind, typeString, "text/plain\x00")))
	inner := outlook(body("the inner question"))
	attached := attribute(2, attBegins, "") + attribute(2, attTitle, "Old mail\x00") +
		attribute(2, attFile, properties(property(propData, typeObject, strings.Repeat("x", 16)+inner)))
	rtf := "\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\xf1\xc5\xc7\xa7\x03\x00\x0a\x00rcpg125B2\x0a\xf3 hel\x09\x00 bw\x05\xb0ld}\x0a\x80\x0f\xa0"
	page := properties(property(propHTML, binaryType, "<p>\xc4\xe3\xba\xc3</p>"), property(propHTMLCode, number, "\xa8\x03\x00\x00"))
	const beside = "--r\nContent-Type: text/plain\n\nthe question\n"
	for name, c := range map[string]struct {
		beside, data, text string
		files              []string
	}{
		"text and a file":           {"", outlook(body("the question"), file), "the question", []string{"报告.txt text/plain the report"}},
		"the text is there, too":    {beside, outlook(body("the question"), file), "the question", []string{"报告.txt text/plain the report"}},
		"another text beside it":    {beside, outlook(body("something else entirely")), "the question\n\nsomething else entirely", nil},
		"a page in GBK":             {"", outlook(attribute(1, attProperties, page)), "你好", nil},
		"a text in a code page":     {"", outlook(attribute(1, attCodepage, "\xe3\x04\x00\x00\x00\x00\x00\x00"), attribute(1, attBody, "\xef\xf0\xe8\xe2\xe5\xf2\x00")), "привет", nil},
		"rich text":                 {"", outlook(attribute(1, attProperties, properties(property(propRTF, binaryType, rtf)))), "hello world", nil},
		"a mail within":             {"", outlook(body("see"), attached), "see", nil},
		"only how it looks":         {beside, outlook(attribute(1, attCodepage, "\x00\x00\x00\x00")), "the question", nil},
		"nothing":                   {"", outlook(), outlooks, nil},
		"broken":                    {beside, "x", "the question\n\n" + outlooks, []string{"winmail.dat application/ms-tnef x"}},
		"cut within a file":         {"", outlook(body("the question"), file[:50]), "the question", []string{"REPORT~1.TXT application/octet-stream "}},
		"lengths beyond everything": {beside, outlook("\x01\x03\x90\x06\x00\xff\xff\xff\xff"), "the question", nil},
	} {
		mail := "Content-Type: multipart/mixed; boundary=r\n\n" + c.beside +
			"--r\nContent-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(c.data)) + "\n--r--"
		b := readBody([]byte(mail), false)
		var files []string
		for _, f := range b.files {
			files = append(files, f.Name+" "+f.MediaType+" "+string(f.Data))
		}
		if b.text != c.text || !slices.Equal(files, c.files) {
			t.Errorf("%s: %q, %q", name, b.text, files)
		}
		if want := "[Attached mail: Old mail]\n\nthe inner question"; name == "a mail within" && b.attached != want {
			t.Errorf("%q", b.attached)
		}
	}
}

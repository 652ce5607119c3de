package email

import (
	"bytes"
	"compress/zlib"
	"io"
)

// Types of the parts of S/MIME (RFC 8551), also as old programs name them.
var (
	sealedKinds    = []string{"application/pkcs7-mime", "application/x-pkcs7-mime"}
	signatureKinds = []string{"application/pkcs7-signature", "application/x-pkcs7-signature",
		"application/pgp-signature"}
)

// Object identifiers of what a message of S/MIME is (RFC 5652, RFC 3274).
const (
	oidSigned     = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"
	oidCompressed = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x09"
)

// maxNested is how deeply elements may be nested.
const maxNested = 30

// unsealed returns the part in a message of S/MIME that is signed or compressed; nil if it is encrypted,
// or has none. It reads no further than that: certificates that are broken lose no text, and the
// signature is not checked, since it proves no From.
func unsealed(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte{tagSequence}) { // the encoding is not declared
		data, _ = fromBase64(data)
	}
	info, _, _ := element(data, 0)
	kind, rest, _ := element(info.body, 0)
	wrapped, _, _ := element(rest, 0)
	message, _, _ := element(wrapped.body, 0)
	if s := string(kind.body); s != oidSigned && s != oidCompressed {
		return nil
	}
	_, rest, _ = element(message.body, 0) // the version
	_, rest, _ = element(rest, 0)         // the algorithms
	content, _, _ := element(rest, 0)
	_, rest, _ = element(content.body, 0) // the type
	wrapped, _, _ = element(rest, 0)
	octets, _, ok := element(wrapped.body, 0)
	if !ok {
		return nil
	}
	inside := octets.octets(0)
	if string(kind.body) == oidCompressed {
		r, err := zlib.NewReader(bytes.NewReader(inside))
		if err != nil {
			return nil
		}
		inside, _ = io.ReadAll(io.LimitReader(r, maxReceived)) // of a mail that is cut, the beginning counts
	}
	return inside
}

// ber is an element of ASN.1 in its basic encoding.
type ber struct {
	tag  byte
	body []byte
}

const (
	tagSequence = 0x30
	constructed = 0x20
	indefinite  = 0x80
)

// element cuts the first element off. One that is longer than the data ends with them.
func element(data []byte, depth int) (e ber, rest []byte, ok bool) {
	if len(data) < 2 || data[0]&0x1f == 0x1f || depth > maxNested {
		return ber{}, nil, false
	}
	e.tag, data = data[0], data[1:]
	length := int(data[0])
	switch data = data[1:]; {
	case length == indefinite:
		n := 0
		for !bytes.HasPrefix(data[n:], []byte{0, 0}) {
			_, after, ok := element(data[n:], depth+1)
			if !ok {
				break // the mail is cut
			}
			n = len(data) - len(after)
		}
		e.body = data[:n]
		return e, data[min(n+2, len(data)):], true
	case length > indefinite:
		digits := length - indefinite
		if digits > 4 || digits > len(data) {
			return ber{}, nil, false
		}
		length = 0
		for _, b := range data[:digits] {
			length = length<<8 | int(b)
		}
		data = data[digits:]
	}
	if length < 0 || length > len(data) {
		length = len(data)
	}
	e.body = data[:length]
	return e, data[length:], true
}

// octets returns the bytes of a string, which may be in several parts.
func (e ber) octets(depth int) (all []byte) {
	if e.tag&constructed == 0 || depth > maxNested {
		return e.body
	}
	for rest := e.body; len(rest) > 0; {
		part, after, ok := element(rest, 0)
		if !ok {
			break
		}
		all, rest = append(all, part.octets(depth+1)...), after
	}
	return all
}

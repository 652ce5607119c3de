package feishu

import (
	"errors"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is a message of the long connection (ws/pbbp2.pb.go of the SDK).
type frame struct {
	sequence, log   uint64
	service, method int32
	headers         []header
	encoding, kind  string
	payload         []byte
	logNew          string
}

type header struct{ key, value string }

// The methods of frames.
const (
	control = 0 // a ping or a pong
	data    = 1 // an event
)

// The fields of a frame.
const (
	fieldSequence protowire.Number = iota + 1
	fieldLog
	fieldService
	fieldMethod
	fieldHeaders
	fieldEncoding
	fieldKind
	fieldPayload
	fieldLogNew
)

// maxHeaders is how many headers of a frame are read.
const maxHeaders = 64

var errFrame = errors.New("it is not a frame of the long connection")

// header returns the value of a header; empty if there is none.
func (f *frame) header(key string) string {
	for _, h := range f.headers {
		if h.key == key {
			return h.value
		}
	}
	return ""
}

// number returns the value of a header that is a number; 0 if there is none.
func (f *frame) number(key string) int {
	n, _ := strconv.Atoi(f.header(key))
	return n
}

// encode writes a frame. The fields that a reader requires are always there.
func (f *frame) encode() []byte {
	var b []byte
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(field protowire.Number, s string) {
		b = protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
	}
	number(fieldSequence, f.sequence)
	number(fieldLog, f.log)
	number(fieldService, uint64(f.service))
	number(fieldMethod, uint64(f.method))
	for _, h := range f.headers {
		one := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), h.key)
		one = protowire.AppendString(protowire.AppendTag(one, 2, protowire.BytesType), h.value)
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldHeaders, protowire.BytesType), one)
	}
	text(fieldEncoding, f.encoding)
	text(fieldKind, f.kind)
	if f.payload != nil {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldPayload, protowire.BytesType), f.payload)
	}
	text(fieldLogNew, f.logNew)
	return b
}

// decodeFrame reads a frame. Fields that are not known are left out.
func decodeFrame(b []byte) (*frame, error) {
	f := &frame{}
	err := fields(b, func(field protowire.Number, v uint64, s []byte) error {
		switch field {
		case fieldSequence:
			f.sequence = v
		case fieldLog:
			f.log = v
		case fieldService:
			f.service = int32(v) //nolint:gosec // as protobuf cuts it
		case fieldMethod:
			f.method = int32(v) //nolint:gosec // as protobuf cuts it
		case fieldHeaders:
			if len(f.headers) == maxHeaders {
				return errFrame
			}
			var h header
			err := fields(s, func(field protowire.Number, _ uint64, s []byte) error {
				switch field {
				case 1:
					h.key = string(s)
				case 2:
					h.value = string(s)
				}
				return nil
			})
			if err != nil {
				return err
			}
			f.headers = append(f.headers, h)
		case fieldEncoding:
			f.encoding = string(s)
		case fieldKind:
			f.kind = string(s)
		case fieldPayload:
			f.payload = s
		case fieldLogNew:
			f.logNew = string(s)
		}
		return nil
	})
	return f, err
}

// fields calls each for the fields of a message: a number, or bytes.
func fields(b []byte, each func(field protowire.Number, v uint64, s []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errFrame
		}
		b = b[n:]
		var v uint64
		var s []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			s, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return errFrame
		}
		b = b[n:]
		if err := each(field, v, s); err != nil {
			return err
		}
	}
	return nil
}

package feishu

import (
	"errors"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is a message of the long connection (ws/pbbp2.pb.go of the SDK).
type frame struct {
	head    []byte // all fields but the payload, as they came
	method  uint64
	headers map[string]string
	payload []byte
}

// The methods of frames.
const (
	control = 0 // a ping or a pong
	data    = 1 // an event
)

// The fields of a frame that mean something here.
const (
	fieldSequence protowire.Number = 1
	fieldLog      protowire.Number = 2
	fieldService  protowire.Number = 3
	fieldMethod   protowire.Number = 4
	fieldHeaders  protowire.Number = 5
	fieldPayload  protowire.Number = 8
)

var errFrame = errors.New("it is not a frame of the long connection")

// number returns the value of a header that is a number; 0 if there is none.
func (f *frame) number(key string) int {
	n, _ := strconv.Atoi(f.headers[key])
	return n
}

// newPing returns the frame of a ping. The fields that a reader requires are always there.
func newPing(service uint64) *frame {
	f := &frame{}
	for i, v := range []uint64{0, 0, service, control} {
		f.head = protowire.AppendTag(f.head, fieldSequence+protowire.Number(i), protowire.VarintType)
		f.head = protowire.AppendVarint(f.head, v)
	}
	return f.with("type", "ping")
}

// with returns a copy with one more header.
func (f *frame) with(key, value string) *frame {
	one := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
	one = protowire.AppendString(protowire.AppendTag(one, 2, protowire.BytesType), value)
	head := protowire.AppendTag(slices.Clip(f.head), fieldHeaders, protowire.BytesType)
	return &frame{head: protowire.AppendBytes(head, one), payload: f.payload}
}

// encode writes a frame.
func (f *frame) encode() []byte {
	if f.payload == nil {
		return f.head
	}
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(f.head), fieldPayload, protowire.BytesType), f.payload)
}

// decodeFrame reads a frame.
func decodeFrame(b []byte) (*frame, error) {
	f := &frame{headers: map[string]string{}}
	err := fields(b, func(field protowire.Number, v uint64, s, raw []byte) error {
		switch field {
		case fieldPayload:
			f.payload = s
			return nil
		case fieldMethod:
			f.method = v
		case fieldHeaders:
			texts := map[protowire.Number]string{}
			err := fields(s, func(field protowire.Number, _ uint64, s,
				_ []byte) error {
				texts[field] = string(s)
				return nil
			})
			if err != nil {
				return err
			}
			f.headers[texts[1]] = texts[2]
		}
		f.head = append(f.head, raw...)
		return nil
	})
	return f, err
}

// fields calls each for the fields of a message: a number, or bytes, and as it is written.
func fields(b []byte, each func(field protowire.Number, v uint64, s, raw []byte) error) error {
	for len(b) > 0 {
		field, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return errFrame
		}
		n := protowire.ConsumeFieldValue(field, kind, b[tag:])
		if n < 0 {
			return errFrame
		}
		var v uint64
		var s []byte
		switch kind {
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(b[tag:])
		case protowire.BytesType:
			s, _ = protowire.ConsumeBytes(b[tag:])
		}
		if err := each(field, v, s, b[:tag+n]); err != nil {
			return err
		}
		b = b[tag+n:]
	}
	return nil
}

package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// File is the configuration, as somebody edits it. It is safe for concurrent use.
type File struct {
	// Path is where it is. A link there is followed.
	Path string
	// Read returns its text, Write replaces it in place, and Check says what is wrong with another one.
	Read  func(path string) ([]byte, error)
	Write func(path string, text []byte) error
	Check func(text []byte) error
	// Schema is a JSON schema of what the file may have, for the editor; nil means none.
	Schema []byte
	// Switch returns the text with a tool, or "group:" and a group, switched on or off. Nil means that it cannot.
	Switch func(text []byte, tool string, on bool) ([]byte, error)

	mu   sync.Mutex
	past []string // the texts before the last saves
	last string   // the base of the text that the last save or undo left
}

const (
	// maxUndo is how many saves can be undone; the oldest is forgotten first.
	maxUndo = 20
	// maxText is how long a configuration is at most, in bytes.
	maxText = 1 << 20
)

// ErrChanged says that a file is no longer what the edit began with.
var ErrChanged = errors.New("the file changed meanwhile; nothing was saved")

// ErrWrong says that a text is no configuration.
var ErrWrong = errors.New("nothing was saved")

// Text is the file at a time.
type Text struct {
	File string `json:"file"`
	Text string `json:"text"`
	// Base names the text: a save says which one it replaces.
	Base string `json:"base"`
	// Undo is how many saves can be undone.
	Undo int `json:"undo"`
}

// Edit is another text for a file whose text was Base.
type Edit struct {
	Text string `json:"text"`
	Base string `json:"base"`
}

// Problems are what is wrong with a text; none means nothing.
type Problems struct {
	Problems []string `json:"problems"`
}

// Now returns the file. One that is not there is empty.
func (f *File) Now() (Text, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now()
}

func (f *File) now() (Text, error) {
	text, err := f.Read(f.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Text{}, err
	}
	base := baseOf(text)
	if base != f.last {
		f.past = nil // somebody else changed it: an earlier text would undo that, too
	}
	return Text{f.Path, string(text), base, len(f.past)}, nil
}

// Look says what is wrong with a text.
func (f *File) Look(text string) Problems {
	p := Problems{[]string{}}
	if err := f.Check([]byte(text)); err != nil {
		p.Problems = strings.Split(err.Error(), "\n")
	}
	return p
}

// Save replaces the file's text, if it is still that of the edit's base and the new one is a
// configuration.
func (f *File) Save(e Edit) (Text, error) {
	return f.change(e.Base, func(string) (string, error) { return e.Text, nil })
}

// SwitchTool switches a tool on or off, or "group:" and a group, if the file's text is still that of base.
func (f *File) SwitchTool(base, tool string, on bool) (Text, error) {
	return f.change(base, func(old string) (string, error) {
		text, err := f.Switch([]byte(old), tool, on)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrWrong, err)
		}
		return string(text), err
	})
}

// change replaces the file's text by another one made of it.
func (f *File) change(base string, of func(old string) (string, error)) (Text, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.now()
	if err != nil {
		return Text{}, err
	}
	if old.Base != base {
		return Text{}, ErrChanged
	}
	text, err := of(old.Text)
	if err != nil || text == old.Text {
		return old, err
	}
	if err := f.write(old.Text, text); err != nil {
		return Text{}, err
	}
	if f.past = append(f.past, old.Text); len(f.past) > maxUndo {
		f.past = f.past[1:]
	}
	return f.now()
}

// Undo brings back the text before the last save, if the file is still that of base.
func (f *File) Undo(base string) (Text, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.now()
	if err != nil {
		return Text{}, err
	}
	if old.Base != base {
		return Text{}, ErrChanged
	}
	if len(f.past) == 0 {
		return Text{}, fmt.Errorf("%w: there is no save of this console to undo", ErrWrong)
	}
	last := len(f.past) - 1
	if err := f.write(old.Text, f.past[last]); err != nil {
		return Text{}, err
	}
	f.past = f.past[:last]
	return f.now()
}

func (f *File) write(old, text string) error {
	if len(text) > maxText {
		return fmt.Errorf("%w: the text is longer than 1 MiB", ErrWrong)
	}
	if err := f.Check([]byte(text)); err != nil {
		return fmt.Errorf("%w: %w", ErrWrong, err)
	}
	if err := f.Write(f.Path, []byte(text)); err != nil { // the disk may be full; the old text had room
		return errors.Join(err, f.Write(f.Path, []byte(old)))
	}
	f.last = baseOf([]byte(text))
	return nil
}

// baseOf names a text.
func baseOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

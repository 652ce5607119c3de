package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

// editText lets a person edit a text, in the program that VISUAL or EDITOR names.
func editText(ctx context.Context, console *terminal.Console, text string) (edited string, err error) {
	f, err := os.CreateTemp("", "etui-memory-*.md")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	run := exec.CommandContext(ctx, editor[0], append(editor[1:], f.Name())...)
	run.Stdin, run.Stdout, run.Stderr = console.In, console.Out, console.Err
	if err := run.Run(); err != nil {
		return "", phrase.Errorf("the editor %s failed, and nothing was changed: %w; set EDITOR to another one",
			editor[0], err)
	}
	b, err := os.ReadFile(f.Name())
	return string(b), err
}

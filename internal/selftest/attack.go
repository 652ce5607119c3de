//go:build unix

package selftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Attack is what the attacker does. It tells on out what it has read, [reached]
// when it has reached what tells nothing, and in the end how it was stopped.
func Attack(args []string, in io.Reader, out io.Writer) {
	attacks := map[string]func(out io.Writer, args []string) error{
		"read": readAny, "write": writeAny, "cat": show, "memory": readSecrets, "kill": kill, "dial": dial,
		"setuid": setuid, "stay": stay, "unshare": unshare, "fill": fill, beMounter: mount, beLeft: remain,
		beVictim: func(out io.Writer, _ []string) error { return beside(in, out) },
	}
	err := errors.New("there is no such attack")
	if len(args) > 0 && attacks[args[0]] != nil {
		err = attacks[args[0]](out, args[1:])
	}
	if err != nil {
		fmt.Fprintf(out, "%s %v\n", tried, err)
	}
}

func show(out io.Writer, paths []string) (err error) {
	for _, path := range paths {
		text, wrong := os.ReadFile(path)
		fmt.Fprintf(out, "%s\n", text)
		err = errors.Join(err, wrong)
	}
	return err
}

// readAny reads a file by its path, by another spelling, through a link, and under
// a second name.
func readAny(out io.Writer, paths []string) error {
	_ = os.Symlink(paths[0], "link")
	_ = os.Link(paths[0], "second")
	defer func() { _ = errors.Join(os.Remove("link"), os.Remove("second")) }() // they need not be there
	return show(out, append(paths, "link", "second"))
}

// writeAny changes files in all ways that there are.
func writeAny(_ io.Writer, paths []string) (err error) {
	for _, path := range paths {
		f, wrong := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if wrong == nil {
			_, wrong = io.WriteString(f, "changed\n")
			f.Close()
		}
		err = errors.Join(err, wrong, os.Chmod(path, 0o777), os.WriteFile(path+".new", nil, 0o644), os.Rename(path+".new", path), os.Remove(path))
	}
	return errors.Join(err, errTried)
}

func kill(_ io.Writer, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return errors.Join(syscall.Kill(pid, syscall.SIGKILL), errTried)
}

// errTried ends what cannot tell whether it has worked.
var errTried = errors.New("who looks sees whether it has worked")

func dial(out io.Writer, args []string) error {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(context.Background(), args[0], args[1])
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if args[0] == "udp" {
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
	}
	var b [64]byte
	n, err := c.Read(b[:])
	fmt.Fprintf(out, "%s\n", b[:n])
	return err
}

// setuid leaves a program that gives others the rights of who runs the command.
func setuid(_ io.Writer, args []string) error {
	return errors.Join(os.WriteFile(args[0], []byte("#!/bin/sh\n"), 0o755), syscall.Chmod(args[0], 0o4755), errTried)
}

// again starts this program again, for another part.
func again(attr *os.ProcAttr, part ...string) (*os.Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// os.Args ends with what this one was asked for: a word, and at most one more.
	own := os.Args[:len(os.Args)-1]
	if len(part) > 1 {
		own = own[:len(own)-1]
	}
	return os.StartProcess(program, append(append([]string(nil), own...), part...), attr)
}

// stay leaves a program behind that holds a lock.
func stay(_ io.Writer, args []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	left, err := again(&os.ProcAttr{Files: []*os.File{null, w, null}, Sys: &syscall.SysProcAttr{Setsid: true}}, beLeft, args[0])
	w.Close()
	if err != nil {
		return err
	}
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		return fmt.Errorf("it has not started: %w", err)
	}
	return errors.Join(left.Release(), errTried)
}

// remain is the one that is left: it holds a lock, for some seconds.
func remain(out io.Writer, args []string) error {
	f, err := os.Create(args[0])
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, reached)
	<-time.After(3 * time.Second)
	return f.Close()
}

// fill takes mebibytes of memory, and keeps them for a while.
func fill(out io.Writer, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	memory, err := syscall.Mmap(-1, 0, n<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	<-time.After(400 * time.Millisecond) // limits are looked at ten times a second
	fmt.Fprintln(out, reached)
	return syscall.Munmap(memory)
}

// beside is the program that others attack: it answers each line with the same
// line, until there are no more.
func beside(in io.Reader, out io.Writer) error {
	anybodyMayTrace()
	fmt.Fprintln(out, os.Getpid())
	_, err := io.Copy(out, in)
	return err
}

package email_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestID: 163.com opens no mailbox to a program that has not said its name.
func TestID(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	heard := make(chan []string, 1)
	go func() {
		var lines []string
		defer func() { heard <- lines }()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprint(conn, "* OK Coremail System IMap Server Ready\r\n")
		named := false
		for in := bufio.NewScanner(conn); in.Scan(); {
			tag, command, _ := strings.Cut(in.Text(), " ")
			lines = append(lines, command)
			switch word, _, _ := strings.Cut(command, " "); {
			case word == "CAPABILITY":
				_, _ = fmt.Fprintf(conn, "* CAPABILITY IMAP4rev1 XLIST SPECIAL-USE ID LITERAL+ STARTTLS UIDPLUS\r\n%s OK CAPABILITY completed\r\n", tag)
			case word == "ID":
				named = true
				_, _ = fmt.Fprintf(conn, "* ID NIL\r\n%s OK ID completed\r\n", tag)
			case word == "SELECT" && !named:
				_, _ = fmt.Fprintf(conn, "%s NO SELECT Unsafe Login. Please contact kefu@188.com for help\r\n", tag)
				return
			case word == "SELECT":
				_, _ = fmt.Fprintf(conn, "* 0 EXISTS\r\n* OK [UIDVALIDITY 1] UIDs valid\r\n%s OK SELECT completed\r\n", tag)
				return
			default:
				_, _ = fmt.Fprintf(conn, "%s OK done\r\n", tag)
			}
		}
	}()
	config := start(t).config()
	config.IMAP, config.Version = "imap://"+listener.Addr().String(), "v1.2"
	_ = open(t, config).Run(t.Context(), newBox()) // the server closes the connection
	all := strings.Join(<-heard, "\n")
	if id := strings.Index(all, `ID ("name" "etui" "version" "v1.2")`); id < 0 || id > strings.Index(all, "SELECT") {
		t.Errorf("the server heard:\n%s", all)
	}
}

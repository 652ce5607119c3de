package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/server"
)

// try presents a key from an address, and returns the status of the answer and how long
// it took.
func try(s http.Handler, key, from string) (int, time.Duration) {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/models", nil)
	r.RemoteAddr = from
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	began := time.Now()
	s.ServeHTTP(w, r)
	return w.Code, time.Since(began)
}

// TestWrongKeys: after some wrong keys an address waits for each refusal; others and
// right keys do not.
func TestWrongKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, server.Config{Key: "right"}, nil)
		check := func(key, from string, status int, takes time.Duration) {
			t.Helper()
			if got, took := try(s, key, from); got != status || took != takes {
				t.Errorf("%s from %s: %d after %v, want %d after %v", key, from, got, took, status, takes)
			}
		}
		for range 10 {
			check("wrong", "[2001:db8::1]:1000", 401, 0)
		}
		check("wrong", "[2001:db8::2]:1000", 401, time.Second) // the same network
		check("right", "[2001:db8::1]:1000", 200, 0)
		check("wrong", "192.0.2.7:1000", 401, 0)
		check("wrong", "@", 401, 0) // a Unix socket
		time.Sleep(11 * time.Minute)
		check("wrong", "[2001:db8::1]:1000", 401, 0)
	})
}

// TestKeysAtOnce: an address that tries many keys at the same time is refused without a
// look at them.
func TestKeysAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, server.Config{Key: "right"}, nil)
		for range 10 {
			try(s, "wrong", "192.0.2.7:1000")
		}
		done := make(chan int)
		for i := range 16 {
			go func() {
				status, _ := try(s, fmt.Sprint("wrong", i), "192.0.2.7:1000")
				done <- status
			}()
		}
		synctest.Wait()
		if got, _ := try(s, "right", "192.0.2.7:1000"); got != http.StatusTooManyRequests {
			t.Errorf("while 16 refusals wait: %d", got)
		}
		if got, _ := try(s, "right", "192.0.2.8:1000"); got != http.StatusOK {
			t.Errorf("from another address: %d", got)
		}
		for range 16 {
			if got := <-done; got != http.StatusUnauthorized {
				t.Errorf("a wrong key: %d", got)
			}
		}
		if got, _ := try(s, "right", "192.0.2.7:1000"); got != http.StatusOK {
			t.Errorf("after that: %d", got)
		}
	})
}

// TestManyAddresses: the memory for wrong keys is bounded, and an address that tries on
// keeps its place.
func TestManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, server.Config{Key: "right"}, nil)
		for range 10 {
			try(s, "wrong", "192.0.2.7:1000")
		}
		for i := range 5000 {
			if i%1000 == 0 {
				time.Sleep(time.Millisecond)
				try(s, "wrong", "192.0.2.7:1000")
			}
			try(s, "wrong", fmt.Sprintf("10.0.%d.%d:1000", i/256, i%256))
		}
		if _, took := try(s, "wrong", "192.0.2.7:1000"); took != time.Second {
			t.Errorf("the refusal took %v", took)
		}
	})
}

// TestTwoLengths: nothing follows a request on its connection whose length was told
// twice.
func TestTwoLengths(t *testing.T) {
	web := httptest.NewServer(newServer(t, server.Config{}, nil))
	defer web.Close()
	for head, closes := range map[string]bool{"Content-Length: 4\r\nTransfer-Encoding: chunked": true, "Content-Length: 2": false} {
		body := "{}"
		if closes {
			body = "2\r\n{}\r\n0\r\n\r\n"
		}
		answer := raw(t, web.Listener.Addr().String(), "POST /api/select HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+head+"\r\n\r\n"+body)
		if got := strings.Contains(answer, "Connection: close"); got != closes {
			t.Errorf("%q: the connection closes: %v, want %v\n%s", head, got, closes, answer)
		}
	}
}

// raw sends bytes to a server, and returns the head of its answer.
func raw(t *testing.T, address, request string) string {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Close {
		return "Connection: close"
	}
	return answer.Status
}

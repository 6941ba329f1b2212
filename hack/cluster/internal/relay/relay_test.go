package relay

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPassHandsOnTheEndOfEachStream(t *testing.T) {
	server := listen(t)
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		data, _ := io.ReadAll(c) // until the client has closed its half
		_, _ = c.Write([]byte("got " + string(data)))
		_ = c.Close()
	}()
	front := listen(t)
	done := make(chan error, 1)
	go func() {
		c, err := front.Accept()
		if err != nil {
			done <- err
			return
		}
		done <- pass(c, func() (net.Conn, error) { return net.Dial("tcp", server.Addr().String()) })
	}()
	c, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); err != nil || string(answer) != "got hello" {
		t.Errorf("%q, %v", answer, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestFreePort(t *testing.T) {
	taken := listen(t).Addr().(*net.TCPAddr).Port
	got, err := FreePort(context.Background(), taken)
	if err != nil || got == taken || got == 0 {
		t.Errorf("got %d, %v", got, err)
	}
	if again, err := FreePort(context.Background(), got); err != nil || again != got {
		t.Errorf("a free port is not kept: %d, then %d, %v", got, again, err)
	}
}

func TestTrim(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etcd.log")
	writer, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	say := func(s string) {
		t.Helper()
		if _, err := writer.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	check := func(f, want string) {
		t.Helper()
		if got, err := os.ReadFile(f); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", filepath.Base(f), got, err)
		}
	}
	long := strings.Repeat("x", 100)
	say(long)
	if err := trim(file, 100); err != nil {
		t.Fatal(err)
	}
	check(file, long)
	if err := trim(file, 99); err != nil {
		t.Fatal(err)
	}
	say("next")
	check(file, "next")
	check(file+".1", long)
}

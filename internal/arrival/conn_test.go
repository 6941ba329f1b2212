package arrival

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// connected returns both ends of a connection.
func connected(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := Dial(context.Background(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

// exchange primes the connection: the kernel begins to note times a moment after it was asked to.
func exchange(t *testing.T, client *Conn, server net.Conn) {
	t.Helper()
	for range 100 {
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if !client.Last().IsZero() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the kernel does not say when bytes arrived")
}

// TestLastIsTheArrival: a reader that comes late sees when the bytes came, and not when it did.
func TestLastIsTheArrival(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	client, server := connected(t)
	exchange(t, client, server)
	const late = 200 * time.Millisecond
	before := time.Now()
	if _, err := server.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	written := time.Now()
	time.Sleep(late)
	n, err := client.Read(make([]byte, 64))
	if err != nil || n != len("answer") {
		t.Fatal(n, err)
	}
	read := time.Now()
	// Wall clock, without the monotonic part that Last does not have.
	if at := client.Last(); at.Before(before.Round(0)) || at.After(read.Round(0).Add(-late/2)) {
		t.Errorf("written between %s and %s, read at %s, arrived at %s", before, written, read, at)
	}
}

func TestAsk(t *testing.T) {
	client, server := connected(t)
	if err := client.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	const large = 8 << 20 // more than the buffers of both ends take
	answered := make(chan error, 1)
	go func() {
		answered <- func() error {
			for _, n := range []int64{8, large, 8} {
				if _, err := io.CopyN(io.Discard, server, n); err != nil {
					return err
				}
				if _, err := io.WriteString(server, "answer"); err != nil {
					return err
				}
			}
			// One that is heard and not answered.
			_, err := io.CopyN(io.Discard, server, 8)
			return errors.Join(err, server.Close())
		}()
	}()
	buffer := make([]byte, 64)
	for _, n := range []int{8, large, 8} {
		if n, err := client.Ask(make([]byte, n), buffer); err != nil || string(buffer[:n]) != "answer" {
			t.Fatalf("%q, %v", buffer[:n], err)
		}
	}
	if n, err := client.Ask(make([]byte, 8), buffer); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("it closes the connection: %d, %v", n, err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	// What is sent to a closed connection is refused, at once or with the next.
	for try := 0; ; try++ {
		if _, err := client.Ask(make([]byte, 8), buffer); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil || try == 2 {
			t.Fatalf("it is closed: %v", err)
		}
	}
}

func TestAskIsGivenUp(t *testing.T) {
	client, _ := connected(t)
	if err := client.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Ask([]byte("?"), make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}

func TestEndsAndDeadlines(t *testing.T) {
	client, server := connected(t)
	if err := client.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	if err := client.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	go func() { _, _ = io.WriteString(server, long); _ = server.Close() }()
	all, err := io.ReadAll(client)
	if err != nil || string(all) != long {
		t.Errorf("read %d bytes, %v", len(all), err)
	}
	if n, err := client.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if _, err := Dial(context.Background(), "127.0.0.1:1"); err == nil {
		t.Error("nobody listens: no error")
	}
}

func BenchmarkRead(b *testing.B) {
	for name, stamped := range map[string]bool{"stamped": true, "plain": false} {
		b.Run(name, func(b *testing.B) {
			listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a benchmark
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			client, err := Dial(b.Context(), listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			server, err := listener.Accept()
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			var reader io.Reader = client.Conn
			if stamped {
				reader = client
			}
			answer, buffer := make([]byte, 1024), make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := server.Write(answer); err != nil {
					b.Fatal(err)
				}
				if _, err := reader.Read(buffer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package loadtester

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"perfrun.dev/perfrun/internal/arrival"
	"perfrun.dev/perfrun/internal/measure"
)

// Buffers of a connection are as small as a call's frames allow, since there may be 4096 connections, and as large as gRPC's own at most.
const minGRPCBuffer, maxGRPCBuffer = 4 << 10, 32 << 10

// frameRoom is what the frames of a message take beside it.
const frameRoom = 1 << 10

func grpcBufferBytes(message []byte) int {
	return min(max(len(message)+frameRoom, minGRPCBuffer), maxGRPCBuffer)
}

// grpcConnBytes is what a connection takes at most: both buffers and what else gRPC has for it, 5 goroutines included. Seen: 50 KiB with
// messages of 1 KiB, 75 KiB with those of 100 KiB.
func grpcConnBytes(message []byte) int64 { return int64(2*grpcBufferBytes(message)) + 48<<10 }

// grpcClient makes unary calls over one HTTP/2 connection of its own, which gRPC opens with the first call, and again when it is lost.
type grpcClient struct {
	conn *grpc.ClientConn
	// link is the newest connection under conn; nil before the first, and where the last attempt to connect has failed.
	link     atomic.Pointer[link]
	path     string
	metadata metadata.MD
	message  mem.BufferSlice
	timeout  time.Duration
}

func newGRPCClient(plan *measure.Plan, endpoint measure.Endpoint) (*grpcClient, error) {
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return nil, fmt.Errorf("parsing the address: %w", err)
	}
	message := endpoint.Call.Message
	c := &grpcClient{path: u.Path, metadata: metadata.New(endpoint.Call.Metadata), message: mem.BufferSlice{mem.SliceBuffer(message)}, timeout: plan.RequestTimeout}
	buffer, window := grpcBufferBytes(message), int32(len(message)+maxGRPCBuffer<<1) //nolint:gosec // Validate has looked at the length
	// passthrough: c.dial resolves the name, as for HTTP.
	c.conn, err = grpc.NewClient("passthrough:///"+u.Host,
		grpc.WithContextDialer(c.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(asEncoded{})),
		grpc.WithReadBufferSize(buffer), grpc.WithWriteBufferSize(buffer),
		// With windows that are given, large enough for the answer, gRPC sends no pings to find out how large they should be.
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		// One call is one request on the wire, or none, whatever the server or DNS would like.
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithDisableHealthCheck(), grpc.WithNoProxy(), grpc.WithIdleTimeout(0),
		// A lost connection is opened again by the next call, as for HTTP; where that fails, the calls of a moment fail with it.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 2, MaxDelay: time.Second}, MinConnectTimeout: plan.RequestTimeout}),
	)
	if err != nil {
		return nil, fmt.Errorf("making a gRPC client: %w", err)
	}
	return c, nil
}

// exchange makes one call. It ends the call itself when the time is over: a deadline would go with the call and have every server on
// the way keep the time too, which it does not over HTTP.
func (c *grpcClient) exchange(ctx context.Context, _ time.Time) exchanged {
	code, arrived, _ := c.call(ctx)
	return exchanged{code: code, arrived: arrived}
}

// call is exchange that also tells what the server or gRPC says about an error.
func (c *grpcClient) call(ctx context.Context) (code int, arrived time.Time, err error) {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, c.metadata))
	defer cancel()
	timer := time.AfterFunc(c.timeout, cancel)
	var answer int
	err = c.conn.Invoke(ctx, c.path, c.message, &answer)
	inTime, l := timer.Stop(), c.link.Load()
	switch {
	case err == nil:
		return http.StatusOK, l.arrived(), nil
	case !inTime:
		return noAnswer, time.Time{}, fmt.Errorf("no answer within %s", c.timeout)
	case ctx.Err() != nil, l == nil, l.broken.Load():
		// The code is then gRPC's own word for it and no server's.
		return noAnswer, time.Time{}, errors.New(status.Convert(err).Message())
	}
	return measure.FirstGRPCCode + int(status.Code(err)), l.arrived(), err
}

func (c *grpcClient) close() { _ = c.conn.Close() }

func (c *grpcClient) dial(ctx context.Context, addr string) (net.Conn, error) {
	c.link.Store(nil)
	conn, err := arrival.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn}
	c.link.Store(l)
	return l, nil
}

// link is a connection that one goroutine of gRPC's reads from, and that the one that makes the calls asks when the answer arrived. With one
// call at a time that is the last that was read.
type link struct {
	*arrival.Conn
	// last is when the newest bytes arrived, in nanoseconds of Unix time; 0: unknown.
	last atomic.Int64
	// broken: there will be no more answers.
	broken atomic.Bool
}

// Read reads, and notes the time of arrival.
func (l *link) Read(p []byte) (n int, err error) {
	n, err = l.Conn.Read(p)
	if err != nil {
		l.broken.Store(true)
	}
	if at := l.Last(); !at.IsZero() {
		l.last.Store(at.UnixNano())
	} else {
		l.last.Store(0)
	}
	return n, err
}

func (l *link) arrived() time.Time {
	if at := l.last.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// asEncoded is a codec for messages that were encoded beforehand, and for answers that nobody looks into.
type asEncoded struct{}

// Marshal returns a mem.BufferSlice as it is.
func (asEncoded) Marshal(v any) (mem.BufferSlice, error) {
	return v.(mem.BufferSlice), nil //nolint:forcetypeassert // call passes nothing else
}

// Unmarshal keeps the answer's length, in an *int.
func (asEncoded) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len() //nolint:forcetypeassert // call passes nothing else
	return nil
}

// Name is that of Protobuf's codec, in which the messages are encoded.
func (asEncoded) Name() string { return "proto" }

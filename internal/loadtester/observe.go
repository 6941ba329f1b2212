package loadtester

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	// metadataTimeout is for an answer from the same pod.
	metadataTimeout  = 3 * time.Second
	maxMetadataBytes = 4 << 20

	// A sidecar that has just become ready may not listen for others yet.
	probeTime    = 8 * time.Second
	probePause   = 250 * time.Millisecond
	probeTimeout = 2 * time.Second
)

// observe looks at the environment before any load, and fails if mTLS is not as required.
func observe(ctx context.Context, plan *measure.Plan) (measure.Observed, error) {
	var seen measure.Observed
	if plan.SidecarMetadataURL != "" {
		seen.DaprVersion = daprVersion(ctx, plan.SidecarMetadataURL)
	}
	if plan.MTLSProbe == "" {
		return seen, nil
	}
	speaks, err := probeTLS(ctx, plan.MTLSProbe, probeTime)
	if err != nil {
		return seen, &Failure{Cause: measure.CauseInternal,
			Message: fmt.Sprintf("whether sidecars use mTLS could not be found out: probing %s: %v", plan.MTLSProbe, err)}
	}
	seen.MTLS = speaks
	if speaks != plan.RequireMTLS {
		return seen, &Failure{Cause: measure.CauseMTLS,
			Message: fmt.Sprintf("mTLS between sidecars is %s, the run asks for %s: the sidecar at %s was asked", onOff(speaks), onOff(plan.RequireMTLS), plan.MTLSProbe)}
	}
	return seen, nil
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// daprVersion is what a sidecar's metadata says, empty if it does not: a run is not worth less for that.
func daprVersion(ctx context.Context, url string) string {
	metadata, err := readMetadata(ctx, url)
	if err != nil {
		return ""
	}
	return cmp.Or(metadata.RuntimeVersion, metadata.Extended.Version)
}

// sidecarMetadata is what is read of a sidecar's metadata (Dapr's API reference, "Metadata API").
type sidecarMetadata struct {
	RuntimeVersion string `json:"runtimeVersion"`
	Extended       struct {
		Version string `json:"daprRuntimeVersion"`
	} `json:"extended"`
	ActorRuntime struct {
		Status string `json:"runtimeStatus"`
		// ActiveActors are the types that are hosted, with no actor yet or some.
		ActiveActors []struct {
			Type string `json:"type"`
			// Count of those that were activated.
			Count int `json:"count"`
		} `json:"activeActors"`
		HostReady bool   `json:"hostReady"`
		Placement string `json:"placement"`
	} `json:"actorRuntime"`
}

func readMetadata(ctx context.Context, url string) (metadata sidecarMetadata, err error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return metadata, err
	}
	res, err := direct.Do(req)
	if err != nil {
		return metadata, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return metadata, fmt.Errorf("reading %s: status %d", url, res.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxMetadataBytes)).Decode(&metadata); err != nil {
		return metadata, fmt.Errorf("reading %s: %w", url, err)
	}
	return metadata, nil
}

// errUndecided: the server neither spoke TLS nor said anything else.
var errUndecided = errors.New("it closed the connection without an answer")

// probeTLS tells whether the server at addr speaks TLS, trying again until it says something or patience is over.
func probeTLS(ctx context.Context, addr string, patience time.Duration) (speaks bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		speaks, err = handshake(ctx, addr)
		if err == nil {
			return speaks, nil
		}
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(probePause):
		}
	}
}

// handshake offers TLS to a server. That the server shows a certificate, or refuses us by a TLS alert, is proof enough: it may well
// want a certificate from us, which we do not have. A first answer that is no TLS record is proof of the opposite; a gRPC server
// without TLS speaks first.
func handshake(ctx context.Context, addr string) (speaks bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	certified := false
	client := tls.Client(conn, &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // nothing is sent; the only question is whether the server speaks TLS
		NextProtos:         []string{"h2"},
		VerifyConnection:   func(tls.ConnectionState) error { certified = true; return nil },
	})
	err = client.HandshakeContext(ctx)
	var notTLS tls.RecordHeaderError
	var network *net.OpError
	switch {
	case err == nil || certified:
		return true, nil
	case errors.As(err, &notTLS):
		return false, nil
	case errors.As(err, &network) && network.Op == "remote error":
		return true, nil
	case errors.Is(err, io.EOF):
		return false, errUndecided
	}
	return false, err
}

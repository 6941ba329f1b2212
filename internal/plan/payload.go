package plan

import (
	"bytes"
	"encoding/json"
	"net"
	"strconv"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// filler is what generated bodies are made of: text, so that nothing on the way can take it for something else.
const filler = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

func body(p *v1alpha1.Payload, size int64) []byte {
	if p != nil && p.Body != nil {
		return []byte(*p.Body)
	}
	return bytes.Repeat([]byte(filler), int(size)/len(filler)+1)[:size]
}

func contentType(p *v1alpha1.Payload) string {
	if p != nil && p.Body != nil && json.Valid([]byte(*p.Body)) {
		return "application/json"
	}
	return "text/plain"
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

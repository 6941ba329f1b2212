package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Errors of the Client; test with errors.Is. The error's text carries the load tester's own sentence.
var (
	// ErrUnknownAttempt: the load tester does not know the attempt (404).
	ErrUnknownAttempt = errors.New("the load tester does not know this attempt")
	// ErrConflict: another attempt or another process (409), or a report asked for before the attempt is done.
	ErrConflict = errors.New("the load tester refuses")
	// ErrInvalidPlan: the plan has faults (400).
	ErrInvalidPlan = errors.New("the plan is invalid")
	// ErrUnreachable: everything else; there was no answer or none that the contract knows, and another try may succeed.
	ErrUnreachable = errors.New("the load tester cannot be reached")
)

const (
	// maxReportBytes: 4096 blocks with two histograms of 5 KiB are 40 MiB, base64 included.
	maxReportBytes = 64 << 20
	// maxAnswerBytes bounds every other answer.
	maxAnswerBytes = 1 << 20

	callTimeout   = 10 * time.Second
	reportTimeout = time.Minute
)

// directClient goes straight to pods: a proxy from the environment is for the world outside.
var directClient = &http.Client{
	Transport: &http.Transport{
		Proxy:               nil,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     30 * time.Second,
		// A pod that is gone leaves its address unanswered.
		ResponseHeaderTimeout: reportTimeout,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Client calls one load tester. Each call ends with its context, or after 10 s (Report: 1 minute) if that comes first.
type Client struct {
	// BaseURL of the load tester, such as http://10.0.0.7:8080.
	BaseURL string
	// Token makes the bearer token of one call.
	Token func() (string, error)
	// HTTP is the client to use; nil means one that keeps connections and uses no proxy.
	HTTP *http.Client
}

// Info asks who the load tester is.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	err := c.call(ctx, http.MethodGet, PathInfo, nil, &info, maxAnswerBytes)
	return info, wrap("asking the load tester who it is", err)
}

// Start posts the plan. Posting an attempt that the load tester knows already changes nothing.
// Errors: ErrInvalidPlan, ErrConflict, ErrUnreachable.
func (c *Client) Start(ctx context.Context, plan *Plan) (Progress, error) {
	var p Progress
	err := c.call(ctx, http.MethodPost, PathRuns, plan, &p, maxAnswerBytes)
	return p, wrap("posting plan", err)
}

// Progress of an attempt. Errors: ErrUnknownAttempt, ErrUnreachable.
func (c *Client) Progress(ctx context.Context, attempt string) (Progress, error) {
	var p Progress
	err := c.call(ctx, http.MethodGet, attemptPath(attempt), nil, &p, maxAnswerBytes)
	return p, wrap("reading progress", err)
}

// PostWindows adds metrics-server's figures to the report. Errors: ErrUnknownAttempt, ErrUnreachable.
func (c *Client) PostWindows(ctx context.Context, attempt string, windows []Window) error {
	return wrap("posting windows", c.call(ctx, http.MethodPost, attemptPath(attempt)+"/windows", windows, nil, maxAnswerBytes))
}

// Report of an attempt that is Done. Errors: ErrUnknownAttempt, ErrConflict before it is Done, ErrUnreachable.
func (c *Client) Report(ctx context.Context, attempt string) (*Report, error) {
	report := &Report{}
	if err := c.call(ctx, http.MethodGet, attemptPath(attempt)+"/report", nil, report, maxReportBytes); err != nil {
		return nil, wrap("reading report", err)
	}
	return report, nil
}

// Stop ends the load of an attempt; what it has recorded is void. Errors: ErrUnknownAttempt, ErrUnreachable.
func (c *Client) Stop(ctx context.Context, attempt string) error {
	return wrap("stopping the load", c.call(ctx, http.MethodDelete, attemptPath(attempt), nil, nil, maxAnswerBytes))
}

func attemptPath(attempt string) string { return PathRuns + "/" + url.PathEscape(attempt) }

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// call sends in (nil: nothing) and decodes the answer, of at most limit bytes, into out (nil: nothing is expected).
func (c *Client) call(ctx context.Context, method, path string, in, out any, limit int64) error {
	timeout := callTimeout
	if limit == maxReportBytes {
		timeout = reportTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	httpClient := c.HTTP
	if httpClient == nil {
		httpClient = directClient
	}
	res, err := httpClient.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return fmt.Errorf("%w: reading its answer: %w", ErrUnreachable, err)
	}
	if int64(len(body)) > limit {
		return fmt.Errorf("%w: its answer is longer than %d bytes", ErrUnreachable, limit)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return refusal(res, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%w: its answer is not what the contract says: %w", ErrUnreachable, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encoding: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	token, err := c.Token()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, body)
	if err != nil {
		return nil, fmt.Errorf("making request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// refusal turns an answer that is not 2xx into an error with the load tester's sentence.
func refusal(res *http.Response, body []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		said.Error = "no reason given"
	}
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: %w; by its clock it is %s", ErrUnreachable, ErrUnauthorized, res.Header.Get("Date"))
	case http.StatusNotFound:
		return fmt.Errorf("%w: %s", ErrUnknownAttempt, said.Error)
	case http.StatusConflict:
		return fmt.Errorf("%w: %s", ErrConflict, said.Error)
	case http.StatusBadRequest:
		return fmt.Errorf("%w: %s", ErrInvalidPlan, said.Error)
	}
	return fmt.Errorf("%w: status %d: %s", ErrUnreachable, res.StatusCode, said.Error)
}

package usage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	cpuMetric    = "process_cpu_seconds_total"
	memoryMetric = "process_resident_memory_bytes"

	// maxMetricsBytes: a busy daprd's page has some hundred KB.
	maxMetricsBytes = 16 << 20
	// maxLineBytes is more than any line of the two metrics has.
	maxLineBytes = 1 << 20

	fetchTimeout = 3 * time.Second
)

// ErrTooLong: the answer is longer than any that makes sense.
var ErrTooLong = errors.New("the answer is too long")

// ParsePrometheus finds a process's own CPU time and resident memory in a page of metrics in Prometheus text format. Anonymous
// stays 0: the format's usual metrics do not tell.
//
// Only the lines of those two metrics are parsed. A page has hundreds more, and reading them all would cost the load tester more CPU
// than the reading is worth.
func ParsePrometheus(r io.Reader) (measure.Usage, error) {
	u, _, err := ParseProcess(r)
	return u, err
}

// ParseProcess is ParsePrometheus, and sums up over their labels those of the named metrics that the page has.
func ParseProcess(r io.Reader, names ...string) (measure.Usage, map[string]float64, error) {
	lines, err := grep(r, append([]string{cpuMetric, memoryMetric}, names...)...)
	if err != nil {
		return measure.Usage{}, nil, fmt.Errorf("reading metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(lines))
	if err != nil {
		return measure.Usage{}, nil, fmt.Errorf("parsing metrics: %w", err)
	}
	u, err := processOf(families)
	if err != nil {
		return measure.Usage{}, nil, err
	}
	sums := map[string]float64{}
	for _, name := range names {
		for _, m := range families[name].GetMetric() {
			v, err := amount(name, m)
			if err != nil {
				return measure.Usage{}, nil, err
			}
			sums[name] += v
		}
	}
	return u, sums, nil
}

func processOf(families map[string]*dto.MetricFamily) (measure.Usage, error) {
	cpu, err := single(families, cpuMetric)
	if err != nil {
		return measure.Usage{}, err
	}
	memory, err := single(families, memoryMetric)
	if err != nil {
		return measure.Usage{}, err
	}
	return measure.Usage{CPUSeconds: cpu, Resident: int64(memory)}, nil
}

// grep keeps the lines that are samples of the named metrics, or say what type they have.
func grep(r io.Reader, names ...string) ([]byte, error) {
	limited := &io.LimitedReader{R: r, N: maxMetricsBytes + 1}
	scanner := bufio.NewScanner(limited)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	var kept []byte
	for scanner.Scan() {
		line := scanner.Bytes()
		about := bytes.TrimPrefix(line, []byte("# TYPE "))
		for _, name := range names {
			if rest, ok := bytes.CutPrefix(about, []byte(name)); ok && (len(rest) == 0 || strings.IndexByte("{ \t", rest[0]) >= 0) {
				kept = append(append(kept, line...), '\n')
			}
		}
	}
	if limited.N <= 0 {
		return nil, ErrTooLong
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	return kept, nil
}

// single is the value of a metric of which there is one. Two would be two processes' figures on one page, of which none is the
// component's.
func single(families map[string]*dto.MetricFamily, name string) (float64, error) {
	metrics := families[name].GetMetric()
	if len(metrics) != 1 {
		return 0, fmt.Errorf("finding %s: there are %d, want 1", name, len(metrics))
	}
	return amount(name, metrics[0])
}

func amount(name string, m *dto.Metric) (float64, error) {
	v := math.NaN()
	switch {
	case m.Counter != nil:
		v = m.GetCounter().GetValue()
	case m.Gauge != nil:
		v = m.GetGauge().GetValue()
	case m.Untyped != nil:
		v = m.GetUntyped().GetValue()
	}
	// 1<<53 bounds what a float64 counts exactly; no machine has as many bytes or seconds.
	if !(v >= 0 && v < 1<<53) {
		return 0, fmt.Errorf("reading %s: %g is no amount", name, v)
	}
	return v, nil
}

// Fetcher reads usage over HTTP. The zero value is ready for use: it keeps connections and uses no proxy.
type Fetcher struct {
	// HTTP is the client; nil means one of its own.
	HTTP *http.Client
}

var directClient = &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}}

// Prometheus reads the metrics page at url within 3 seconds.
func (f Fetcher) Prometheus(ctx context.Context, url string) (measure.Usage, error) {
	var u measure.Usage
	err := f.get(ctx, url, func(body io.Reader) (err error) {
		u, err = ParsePrometheus(body)
		return err
	})
	return u, err
}

// Process reads the metrics page at url within 3 seconds, and sums up over their labels those of the named metrics that it has.
func (f Fetcher) Process(ctx context.Context, url string, names ...string) (u measure.Usage, sums map[string]float64, err error) {
	err = f.get(ctx, url, func(body io.Reader) (err error) {
		u, sums, err = ParseProcess(body, names...)
		return err
	})
	return u, sums, err
}

// Pod reads the usage that a meter serves at url, within 3 seconds.
func (f Fetcher) Pod(ctx context.Context, url string) (pod measure.PodUsage, err error) {
	err = f.get(ctx, url, func(body io.Reader) (err error) {
		pod, err = decode[measure.PodUsage](body)
		return err
	})
	return pod, err
}

// Traces reads what a target's application serves at url, within 3 seconds.
func (f Fetcher) Traces(ctx context.Context, url string) (traces measure.Traces, err error) {
	err = f.get(ctx, url, func(body io.Reader) (err error) {
		traces, err = decode[measure.Traces](body)
		return err
	})
	return traces, err
}

// Exported reads what a trace sink serves at url, within 3 seconds.
func (f Fetcher) Exported(ctx context.Context, url string) (exported measure.Exported, err error) {
	err = f.get(ctx, url, func(body io.Reader) (err error) {
		exported, err = decode[measure.Exported](body)
		return err
	})
	return exported, err
}

func (f Fetcher) get(ctx context.Context, url string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("making request: %w", err)
	}
	client := f.HTTP
	if client == nil {
		client = directClient
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("fetching usage: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("fetching usage from %s: status %d", url, res.StatusCode)
	}
	if err := read(res.Body); err != nil {
		return fmt.Errorf("fetching usage from %s: %w", url, err)
	}
	return nil
}

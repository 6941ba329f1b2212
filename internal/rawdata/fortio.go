package rawdata

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// WriteHGRM writes one histogram of a group in HdrHistogram's text format, in milliseconds.
func WriteHGRM(w io.Writer, g *Group, which Histogram) error { return g.Histograms[which].WriteHGRM(w) }

// fortioResult is the part of Fortio's result of a run that `fortio report` displays (HTTPRunnerResults in fortio.org/fortio/fhttp).
// Times are in seconds, ActualDuration in nanoseconds.
type fortioResult struct {
	RunType           string
	Labels            string
	StartTime         time.Time
	RequestedQPS      string
	RequestedDuration string
	ActualQPS         float64
	ActualDuration    time.Duration
	NumThreads        int
	DurationHistogram fortioHistogram
	Exactly           int64
	Uniform           bool
	ID                string
	RetCodes          map[string]int64
	URL               string
}

type fortioHistogram struct {
	Count       int64
	Min         float64
	Max         float64
	Sum         float64
	Avg         float64
	StdDev      float64
	Data        []fortioBucket
	Percentiles []fortioPercentile
}

// fortioBucket counts the values above Start up to End; the first also those at Start. Percent is cumulative.
type fortioBucket struct {
	Start, End, Percent float64
	Count               int64
}

type fortioPercentile struct{ Percentile, Value float64 }

// fortioPercentiles are those that Fortio's pages show.
var fortioPercentiles = []float64{50, 75, 90, 95, 99, 99.9}

// WriteFortio writes one histogram of a group as a result of Fortio's. Fortio would time failed requests like good ones; ours have no
// latency, so its histogram of errors is left out, RetCodes count them by status and the label tells how many there are. Any good answer
// is counted as 200, or over gRPC as OK.
func (d *Document) WriteFortio(w io.Writer, g *Group, which Histogram) error {
	failed, url := g.Failed(), cmp.Or(d.Report.URLs[g.Arm], "address unknown")
	runType, good := "HTTP", "200"
	if measure.IsGRPC(url) {
		runType, good = "GRPC", codes.OK.String()
	}
	label := fmt.Sprintf("perfrun %s, %s arm, %s time", d.PerfRun, g.Arm, which)
	if failed > 0 {
		label += fmt.Sprintf(", %d of %d requests failed", failed, failed+g.Succeeded)
	}
	out := fortioResult{
		RunType: runType, Labels: label, StartTime: g.Start, URL: url,
		RequestedQPS: strconv.FormatFloat(d.Report.RPS, 'f', -1, 64), RequestedDuration: g.Planned.String(), ActualDuration: g.Load,
		NumThreads: g.Connections, DurationHistogram: fortioData(g.Histograms[which]), Exactly: g.Succeeded + failed + g.Skipped,
		Uniform: true, ID: g.Name, RetCodes: map[string]int64{},
	}
	if seconds := g.Load.Seconds(); seconds > 0 {
		out.ActualQPS = float64(g.Succeeded+failed) / seconds
	}
	if g.Succeeded > 0 {
		out.RetCodes[good] = g.Succeeded
	}
	for code, n := range g.Errors {
		out.RetCodes[measure.CodeName(code)] += n
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("writing Fortio's JSON: %w", err)
	}
	return nil
}

func fortioData(h *stats.Histogram) fortioHistogram {
	count := h.Count()
	out := fortioHistogram{
		Count: count, Min: h.Min().Seconds(), Max: h.Max().Seconds(), Sum: h.Mean().Seconds() * float64(count), Avg: h.Mean().Seconds(),
		StdDev: h.StdDev().Seconds(), Data: []fortioBucket{},
	}
	var total int64
	for _, bar := range h.Bars() {
		total += bar.Count
		// A bar of 400 us holds what was rounded to 400 us: above 399 us, as far as a bar tells.
		out.Data = append(out.Data, fortioBucket{Start: (bar.From - time.Microsecond).Seconds(), End: bar.To.Seconds(),
			Percent: 100 * float64(total) / float64(count), Count: bar.Count})
	}
	if n := len(out.Data); n > 0 {
		out.Data[0].Start, out.Data[n-1].End = out.Min, out.Max
	}
	for _, p := range fortioPercentiles {
		if d, ok := h.Quantile(p / 100); ok {
			out.Percentiles = append(out.Percentiles, fortioPercentile{p, d.Seconds()})
		}
	}
	return out
}

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"
	"fortio.org/log"

	"perfrun.dev/perfrun/internal/loadtester"
	"perfrun.dev/perfrun/internal/measure"
)

// loadJob is what a load tester's process is told.
type loadJob struct {
	URL         string
	RPS         float64
	Connections int
	Duration    time.Duration
	// Timeout of a request.
	Timeout time.Duration
	// Latencies are wanted, each of them (Fortio only).
	Latencies bool
	// ServerPID is read by our counters, as the target's is in a pod.
	ServerPID int
}

// loadResult is what it found.
type loadResult struct {
	// Start of the schedule, in nanoseconds of the system clock.
	Start int64
	// Succeeded requests in Elapsed, and Failed ones.
	Succeeded, Failed int64
	Elapsed           time.Duration
	// CPU of the process while it sent the load.
	CPU time.Duration
	// Response and Service are our histograms.
	Response, Service []byte
	// Percentiles are what Fortio reports by itself, in seconds, in the order of percentiles.
	Percentiles []float64
	// Latencies in seconds, as Fortio measured them.
	Latencies []float64
}

func (r loadResult) rate() float64 { return float64(r.Succeeded) / r.Elapsed.Seconds() }

// cpuPerRequest in microseconds.
func (r loadResult) cpuPerRequest() float64 {
	return float64(r.CPU.Nanoseconds()) / 1e3 / float64(r.Succeeded)
}

// percentiles that are compared.
var percentiles = []float64{50, 75, 90, 95, 99, 99.9}

// loadTimeout of a request: the longest answer of a stalled server takes half a second.
const loadTimeout = 3 * time.Second

// runOurs is the load tester as it is in a pod: RunPlan with one measured block of the Baseline arm, its counters read.
func runOurs(job loadJob) (loadResult, error) {
	proc, err := procOf(os.Getpid(), job.ServerPID)
	if err != nil {
		return loadResult{}, fmt.Errorf("making a small /proc: %w", err)
	}
	defer func() { _ = os.RemoveAll(proc) }()
	plan := &measure.Plan{
		Version: measure.Version, Run: "bench", Attempt: "bench", Instance: "bench",
		RPS: job.RPS, Body: make([]byte, answerBytes), ContentType: "text/plain", RequestTimeout: job.Timeout,
		Endpoints: map[measure.Arm]measure.Endpoint{measure.Baseline: {URL: job.URL, Method: "POST"}},
		Blocks:    []measure.Block{{Connections: job.Connections, Arm: measure.Baseline, Duration: job.Duration}},
		Counters:  []measure.Counter{{Component: "loadTester", Pod: "bench", Source: measure.SourceLocalProc}},
	}
	before := cpuTime()
	report, err := loadtester.RunPlan(context.Background(), plan, loadtester.Environment{ProcRoot: proc})
	used := cpuTime() - before
	if err != nil {
		return loadResult{}, fmt.Errorf("running plan: %w", err)
	}
	block := report.Blocks[0]
	result := loadResult{
		Start: block.Start.UnixNano(), Succeeded: block.Succeeded, Elapsed: block.End.Sub(block.Start), CPU: used,
		Response: block.Response, Service: block.Service,
	}
	for _, n := range block.Errors {
		result.Failed += n
	}
	for _, s := range report.Usage {
		if s.Error != "" {
			return result, fmt.Errorf("reading counters: %s", s.Error)
		}
	}
	return result, nil
}

// procOf is a /proc with three processes, as many as a pod has: the load tester reads all of it once a second, and a machine may
// have hundreds.
func procOf(pids ...int) (string, error) {
	dir, err := os.MkdirTemp("", "proc")
	if err != nil {
		return "", err
	}
	for _, pid := range append(pids, 1) {
		name := strconv.Itoa(pid)
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(dir, name)); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// runFortio is Fortio's HTTP runner with its defaults (fast client, catching up, resolution 1 ms), but for Uniform: without it all
// connections would send at the same moment, which is another load.
func runFortio(job loadJob) (loadResult, error) {
	log.SetLogLevelQuiet(log.Critical)
	kept := &latencies{of: make([][]float64, job.Connections)}
	options := &fhttp.HTTPRunnerOptions{
		RunnerOptions: periodic.RunnerOptions{
			QPS: job.RPS, Duration: job.Duration, NumThreads: job.Connections, Uniform: true, Percentiles: percentiles, Out: io.Discard,
		},
		HTTPOptions: fhttp.HTTPOptions{URL: job.URL, Payload: make([]byte, answerBytes), HTTPReqTimeOut: job.Timeout},
	}
	if job.Latencies {
		options.AccessLogger = kept
	}
	before := cpuTime()
	run, err := fhttp.RunHTTPTest(options)
	used := cpuTime() - before
	if err != nil {
		return loadResult{}, fmt.Errorf("running Fortio: %w", err)
	}
	result := loadResult{
		Start: run.StartTime.UnixNano(), Succeeded: run.RetCodes[200], Elapsed: run.ActualDuration, CPU: used, Latencies: kept.all(),
	}
	for code, n := range run.RetCodes {
		if code != 200 {
			result.Failed += n
		}
	}
	for _, p := range run.DurationHistogram.Percentiles {
		result.Percentiles = append(result.Percentiles, p.Value)
	}
	return result, nil
}

// latencies is Fortio's access logger: what it is given is what Fortio puts into its histogram. So one run tells what Fortio would
// have reported at any resolution.
type latencies struct {
	of [][]float64
}

// Start of a request.
func (l *latencies) Start(ctx context.Context, _ periodic.ThreadID, _ int64, _ time.Time) context.Context {
	return ctx
}

// Report of a request that has ended. Each thread has its own.
func (l *latencies) Report(_ context.Context, thread periodic.ThreadID, _ int64, _ time.Time, latency float64, _ bool, _ string) {
	l.of[thread] = append(l.of[thread], latency)
}

// Info names the logger.
func (l *latencies) Info() string { return "bench" }

func (l *latencies) all() (all []float64) {
	for _, one := range l.of {
		all = append(all, one...)
	}
	return all
}

// cpuTime that this process has used so far, in user and system mode.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		// It cannot fail for this process.
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// wholeLoad rounds a duration up to one in which each connection sends the same number of requests.
func wholeLoad(rps float64, connections int, atLeast time.Duration) (calls int, duration time.Duration) {
	calls = max(2, int(math.Ceil(rps*atLeast.Seconds()/float64(connections)-1e-9)))
	return calls, time.Duration(math.Round(float64(calls*connections) / rps * 1e9))
}

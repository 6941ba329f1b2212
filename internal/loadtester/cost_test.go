package loadtester

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"

	"perfrun.dev/perfrun/internal/target"
)

// serverVariable makes the test binary a target: in a process of its own, so that its CPU is not the load tester's.
const serverVariable = "PERFRUN_COST_SERVER"

func TestMain(m *testing.M) {
	if addr := os.Getenv(serverVariable); addr != "" {
		_ = target.Serve(context.Background(), target.Options{Addr: addr, TracesAddr: "127.0.0.1:0"})
		return
	}
	os.Exit(m.Run())
}

// BenchmarkCost shows the CPU that a request costs this load tester and Fortio's own HTTP runner, side by side against the same server.
// It takes half a minute: go test -run '^$' -bench Cost -benchtime 1x ./internal/loadtester
func BenchmarkCost(b *testing.B) {
	const addr, rps, connections = "127.0.0.1:18917", 2000, 16
	server := exec.CommandContext(b.Context(), os.Args[0]) //nolint:gosec // this very binary
	server.Env = append(os.Environ(), serverVariable+"="+addr)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	time.Sleep(500 * ms)
	url := "http://" + addr + "/echo"
	plan := planFor(url, rps, connections, 4*time.Second)
	var ours, theirs time.Duration
	for b.Loop() {
		for range 3 {
			before := cpuTime()
			if _, err := RunPlan(b.Context(), plan, Environment{ProcRoot: b.TempDir()}); err != nil {
				b.Fatal(err)
			}
			middle := cpuTime()
			if _, err := fhttp.RunHTTPTest(&fhttp.HTTPRunnerOptions{
				RunnerOptions: periodic.RunnerOptions{QPS: rps, Duration: 4 * time.Second, NumThreads: connections, Uniform: true, Out: io.Discard},
				HTTPOptions:   fhttp.HTTPOptions{URL: url, Payload: []byte(strings.Repeat("x", 1024))},
			}); err != nil {
				b.Fatal(err)
			}
			ours += middle - before
			theirs += cpuTime() - middle
		}
	}
	requests := float64(b.N) * 3 * 4 * rps
	b.ReportMetric(float64(ours.Microseconds())/requests, "ours-us/request")
	b.ReportMetric(float64(theirs.Microseconds())/requests, "fortio-us/request")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

// cpuTime that this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

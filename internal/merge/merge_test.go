package merge

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// share is a report with two blocks of 500 requests, and records its response times in whole, too.
func share(t *testing.T, pod string, late time.Duration, seed uint64, whole []*stats.Histogram) Share {
	t.Helper()
	r := &measure.Report{RPS: 50, Run: "uid", Observed: measure.Observed{MTLS: true, CPUs: 4, Traced: 10, Sampled: 1},
		Usage:   []measure.Series{{Component: "loadTester", Pod: pod}},
		Windows: []measure.Window{{Pod: pod}}}
	random := rand.New(rand.NewPCG(seed, 1))
	for i, arm := range []measure.Arm{measure.Baseline, measure.Dapr} {
		due := begin.Add(time.Duration(12*i) * time.Second)
		h := stats.NewHistogram()
		for range 500 {
			d := time.Duration(random.ExpFloat64() * float64(time.Millisecond))
			h.Record(d)
			whole[i].Record(d)
		}
		r.Blocks = append(r.Blocks, measure.BlockReport{
			Block: measure.Block{Connections: 4, Arm: arm, Duration: 10 * time.Second, At: due.Sub(begin)},
			Due:   due, Start: due.Add(late), End: due.Add(late + 10*time.Second),
			Planned: 510, Succeeded: 500, Errors: map[int]int64{500: 7, -1: 1}, Skipped: 2, Steady: 400, SteadyTime: 8 * time.Second,
			Response: encoded(t, h), Service: encoded(t, h), Lag: encoded(t, h), Steal: map[string]float64{pod: 0.1},
			Timelines: []measure.Timeline{{Step: 1, Requests: []int64{1}}, {Step: 2, Requests: []int64{1}}},
		})
	}
	return Share{Pod: pod, Report: r}
}

func encoded(t *testing.T, h *stats.Histogram) measure.EncodedHistogram {
	t.Helper()
	b, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wholes() []*stats.Histogram {
	return []*stats.Histogram{stats.NewHistogram(), stats.NewHistogram()}
}

func TestNothingIsLost(t *testing.T) {
	whole := wholes()
	shares := []Share{share(t, "a", 0, 1, whole), share(t, "b", 3*time.Millisecond, 2, whole), share(t, "c", time.Millisecond, 3, whole)}
	got, err := Reports(shares)
	if err != nil {
		t.Fatal(err)
	}
	if got.RPS != 150 || got.Observed.Traced != 30 || got.Observed.Sampled != 3 || len(got.Usage) != 3 || len(got.Windows) != 3 {
		t.Errorf("%g requests/s, observed %+v, %d series, %d windows", got.RPS, got.Observed, len(got.Usage), len(got.Windows))
	}
	want := []measure.Replica{{Pod: "a", CPUs: 4}, {Pod: "b", CPUs: 4}, {Pod: "c", CPUs: 4}}
	if diff := cmp.Diff(want, got.Replicas); diff != "" {
		t.Error(diff)
	}
	for i, b := range got.Blocks {
		// The very histogram that would have been recorded by one.
		for name, h := range map[string]measure.EncodedHistogram{"response": b.Response, "service": b.Service, "lag": b.Lag} {
			if diff := cmp.Diff(string(encoded(t, whole[i])), string(h)); diff != "" {
				t.Errorf("block %d, %s: %s", i, name, diff)
			}
		}
		due := begin.Add(time.Duration(12*i) * time.Second)
		if b.Connections != 12 || b.Planned != 1530 || b.Succeeded != 1500 || b.Skipped != 6 || b.Errors[500] != 21 || b.Errors[-1] != 3 {
			t.Errorf("block %d: %+v", i, b)
		}
		// Side by side: the answers add up, the time does not.
		if b.Steady != 1200 || b.SteadyTime != 8*time.Second || !b.Due.Equal(due) || !b.Start.Equal(due) || !b.End.Equal(due.Add(10*time.Second+3*time.Millisecond)) {
			t.Errorf("block %d: steady %d in %s, from %s to %s, due %s", i, b.Steady, b.SteadyTime, b.Start, b.End, b.Due)
		}
		if len(b.Steal) != 3 || len(b.Timelines) != 6 || b.Timelines[0].Replica != 0 || b.Timelines[5].Replica != 2 || b.StartSkew != 3*time.Millisecond {
			t.Errorf("block %d: steal %v, %d timelines, skew %s", i, b.Steal, len(b.Timelines), b.StartSkew)
		}
	}
}

// A field that is new in a block's report must not be lost on the way.
func TestEveryFieldIsMerged(t *testing.T) {
	a, b := share(t, "a", 0, 1, wholes()), share(t, "b", time.Millisecond, 2, wholes())
	notMerged := []string{"Block", "Replicas", "StartSkew"}
	for _, s := range []Share{a, b} {
		s.Report.Blocks[0].Calls = &measure.Calls{Due: []int64{0, 5000}, Response: []int64{100, -200}}
		block := reflect.ValueOf(&s.Report.Blocks[0]).Elem()
		for i := range block.NumField() {
			name := block.Type().Field(i).Name
			if block.Field(i).IsZero() && block.Field(i).CanInt() {
				block.Field(i).SetInt(5)
			}
			if block.Field(i).IsZero() && !slices.Contains(notMerged, name) {
				t.Errorf("%s is empty: give it a value here", name)
			}
		}
	}
	got, err := Reports([]Share{a, b})
	if err != nil {
		t.Fatal(err)
	}
	// The second share begins 1 ms after the first.
	if diff := cmp.Diff(&measure.Calls{Due: []int64{0, 1000, 5000, 6000}, Response: []int64{100, 100, -200, -200}}, got.Blocks[0].Calls); diff != "" {
		t.Error(diff)
	}
	block := reflect.ValueOf(got.Blocks[0])
	for i := range block.NumField() {
		if block.Field(i).IsZero() {
			t.Errorf("%s is lost", block.Type().Field(i).Name)
		}
	}
}

func TestPercentilesStayThoseOfEach(t *testing.T) {
	own := wholes()
	shares := []Share{share(t, "a", 0, 1, wholes()), share(t, "b", 2*time.Millisecond, 2, own)}
	got, err := Reports(shares)
	if err != nil {
		t.Fatal(err)
	}
	b := got.Blocks[1].Replicas[1]
	p50, _ := own[1].Quantile(0.5)
	if b.P50 == nil || *b.P50 != p50.Microseconds() || b.P90 == nil || b.Late != 2*time.Millisecond || b.Succeeded != 500 {
		t.Errorf("got %+v, want a p50 of %s", b, p50)
	}
	if b.P99 != nil {
		t.Error("5 of 500 samples lie beyond the p99, which are too few")
	}
}

// A clock that is ahead makes a report of later moments, of one and the same time.
func TestClocksAreTakenOut(t *testing.T) {
	a, b := share(t, "a", time.Millisecond, 1, wholes()), share(t, "b", 3*time.Millisecond, 2, wholes())
	b.Report.Usage[0].Readings = []measure.Reading{{Time: begin}}
	want, err := Reports([]Share{a, b})
	if err != nil {
		t.Fatal(err)
	}
	const ahead = time.Hour
	b.ClockOffset = ahead
	for i := range b.Report.Blocks {
		block := &b.Report.Blocks[i]
		block.Due, block.Start, block.End = block.Due.Add(ahead), block.Start.Add(ahead), block.End.Add(ahead)
	}
	b.Report.Usage[0].Readings[0].Time = begin.Add(ahead)
	got, err := Reports([]Share{a, b})
	if err != nil {
		t.Fatal(err)
	}
	want.Replicas[1].ClockOffset = ahead
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if skew := got.Blocks[0].StartSkew; skew != 2*time.Millisecond {
		t.Errorf("skew %s", skew)
	}
	if !b.Report.Usage[0].Readings[0].Time.Equal(begin.Add(ahead)) || !b.Report.Blocks[0].Due.Equal(begin.Add(ahead)) {
		t.Error("merging has changed what it was given")
	}
}

func TestOneShareIsTheWhole(t *testing.T) {
	a := share(t, "a", 0, 1, wholes())
	if got, err := Reports([]Share{a}); err != nil || got != a.Report {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestWhatDoesNotBelongTogetherIsNotMerged(t *testing.T) {
	for says, change := range map[string]func(*measure.Report){
		"has 1 blocks":                  func(r *measure.Report) { r.Blocks = r.Blocks[:1] },
		"Dapr of pair 0 at point 0":     func(r *measure.Report) { r.Blocks[0].Arm = measure.Dapr },
		"different schedules":           func(r *measure.Report) { r.Blocks[0].Due = begin.Add(time.Second) },
		"reading the response times of": func(r *measure.Report) { r.Blocks[1].Response = []byte("none") },
		"reading the histograms of":     func(r *measure.Report) { r.Blocks[1].Lag = []byte("none") },
	} {
		a, b := share(t, "a", 0, 1, wholes()), share(t, "b", 0, 2, wholes())
		change(b.Report)
		if _, err := Reports([]Share{a, b}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

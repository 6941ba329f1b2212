package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary take a role too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "-role=") {
		if err := act(strings.TrimPrefix(os.Args[1], "-role="), strings.TrimPrefix(os.Args[2], "-job=")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestConduct(t *testing.T) {
	c, err := newConduct(serverJob{Case: "stalls", Seed: 1, Length: 10 * time.Second, Calls: 2, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	a, b := &serverConn{}, &serverConn{}
	// Opening a connection is answered at once and recorded nowhere.
	for _, conn := range []*serverConn{a, b} {
		if at := c.arrived(conn, 5); at != 0 {
			t.Fatalf("the first answer is to leave at %d", at)
		}
		c.departed(conn, 6)
	}
	lognormal, _ := caseOf("lognormal")
	first, second := lognormal.sequence(1, 0, 2), lognormal.sequence(1, 1, 2)
	if at := c.arrived(b, 1000*ms); at != 1000*ms+first[0] {
		t.Errorf("the first that counts leaves at %d", at)
	}
	if c.ready(1000*ms) != nil || c.ready(1000*ms+first[0]) != b || c.next() != math.MaxInt64 {
		t.Error("the answer is not ready when it is to leave, once")
	}
	c.departed(b, 1001*ms)
	// The stall begins 1.7 s after the first request that counts. The third request begins the sequence again.
	if at := c.arrived(a, 2700*ms); at != 3200*ms {
		t.Errorf("in a stall: leaves at %d", at)
	}
	if at := c.arrived(b, 3300*ms); at != 3300*ms+first[1] {
		t.Errorf("after the stall: leaves at %d", at)
	}
	if c.ready(5000*ms) != a || c.ready(5000*ms) != b {
		t.Error("answers do not leave in order")
	}
	c.departed(a, 3200*ms)
	c.departed(b, 3310*ms)
	if at := c.arrived(b, 4000*ms); at != 4000*ms+first[0] {
		t.Errorf("beyond the sequence: leaves at %d", at)
	}
	h := c.history()
	if len(h.Connections) != 2 || h.requests() != 3 || h.Connections[1][0] != (record{2700 * ms, 3200 * ms, second[0]}) {
		t.Errorf("recorded %+v", h)
	}
	if s := h.services(always(7)); s[0] != ms+7 || s[1] != 10*ms+7 || s[2] != 500*ms+7 {
		t.Errorf("services %v", s)
	}
}

// TestTruthOfARealLoad: both load testers and the probes against a real server, short. The limits are wide, the machine being busy
// with other tests: they would show a wrong unit, clock or schedule.
func TestTruthOfARealLoad(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the server needs Linux")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b := &bench{self: os.Args[0], duration: time.Second, costDuration: time.Second, alternations: 1, seed: 1, mostOthers: 1000, began: time.Now(),
		transit: []transit{{mode: probeThere, at: point{200, 4}}}}
	if err := b.probe(ctx, &b.transit[0]); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{roleOurs, roleFortio} {
		got, err := b.drive(ctx, role, cases[0], point{200, 4})
		if err != nil {
			t.Fatal(err)
		}
		if got.unstamped > 10 {
			t.Errorf("%s: %d requests have no time of arrival by the kernel", role, got.unstamped)
		}
		truth, _ := quantile(got.responses, 0.5)
		service, _ := quantile(got.services, 0.5)
		if truth < ms || truth > 3*ms || service < ms || service > 3*ms {
			t.Errorf("%s: the truth is %d, and of service time %d", role, truth, service)
		}
		if role == roleFortio {
			if derived := fortioAt(got.Latencies, resolutions[0], 50); math.Abs(derived-got.Percentiles[0]*1e6) > 1e-6 {
				t.Errorf("Fortio reports %g s, from its latencies follows %g us", got.Percentiles[0], derived)
			}
			continue
		}
		one := compared{of: cases[0], at: point{200, 4}, ours: got}
		one.fortio = got
		one.fortio.Latencies, one.fortio.Percentiles = []float64{1}, make([]float64, len(percentiles))
		table, err := rowsAt([]compared{one}, 1e-4)
		if err != nil || len(table) == 0 {
			t.Fatal(err, len(table))
		}
		if r := table[0]; r.OursError < -0.01 || r.OursError > 1 {
			t.Errorf("ours has p50 %g, the truth is %g", r.Ours, r.Truth)
		}
	}
	result := map[contender]figures{}
	if err := b.cost(ctx, result, ours, b.steady()); err != nil {
		t.Fatal(err)
	}
	if f := result[ours]; f.rate < 500 || f.rate > 1100 || f.cpuPerRequest < 1 || f.cpuPerRequest > 5000 {
		t.Errorf("%+v", f)
	}
}

func TestRolesAreChecked(t *testing.T) {
	for role, job := range map[string]string{"none": "{}", roleOurs: "x", roleFortio: "x", roleServer: `{"Case":"none"}`, roleProbe: "x"} {
		if err := act(role, job); err == nil {
			t.Errorf("role %q with job %q was taken", role, job)
		}
	}
}

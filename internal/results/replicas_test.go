package results

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// withReplicas makes a report that of two load testers, each with half of the requests, a sidecar that takes 0.2 vCPU and the percentiles
// of the whole.
func withReplicas(in *Input) {
	r := in.Report
	r.Replicas = []measure.Replica{{Pod: "lt-1", CPUs: 2}, {Pod: "lt-2", CPUs: 8}}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		base := int64(1000)
		if b.Arm == measure.Dapr {
			base = 3000
		}
		for range r.Replicas {
			b.Replicas = append(b.Replicas, measure.ReplicaBlock{Start: b.Start, Succeeded: 500,
				P50: ptr.To(base), P90: ptr.To(base), P99: ptr.To(10 * base)})
		}
		b.StartSkew = time.Duration(i) * time.Millisecond
	}
	in.Nodes.LoadTesters = []string{"n1", "n3"}
	for _, replica := range r.Replicas {
		for component, used := range map[v1alpha1.Component]float64{v1alpha1.ComponentCallerSidecar: 0.2, v1alpha1.ComponentLoadTester: 0.1} {
			in.Components = append(in.Components, Component{Component: component, Pod: replica.Pod, Node: "n1"})
			s := measure.Series{Component: string(component), Pod: replica.Pod, Source: measure.SourceLocalProc}
			for i, b := range r.Blocks {
				cpu := float64(i) * 10 * used
				s.Readings = append(s.Readings, measure.Reading{Block: i, Time: b.Start, CPUSeconds: cpu, Resident: 10 << 20},
					measure.Reading{Block: i, Time: b.End, CPUSeconds: cpu + 10*used, Resident: 10 << 20})
			}
			r.Usage = append(r.Usage, s)
		}
	}
}

func TestSeveralLoadTesters(t *testing.T) {
	out := build(t, synthetic(t, withReplicas))
	if out.Verdict != v1alpha1.PhaseSucceeded || len(out.Warnings) != 0 {
		t.Fatalf("%s: %s, warnings %v", out.Verdict, out.Message, out.Warnings)
	}
	if got := out.Results[0].StartSkewMax; got == nil || got.String() != "11ms" {
		t.Errorf("skew %v, want that of the worst block", got)
	}
	// 0.5 vCPU of the target's sidecar and 0.2 of each of the callers', for 100 requests/s.
	if got := out.Results[0].Added.CPUPer1000RPS.Value; got.String() != "9" {
		t.Errorf("all sidecars take %s for each 1000 requests/s", got.String())
	}
	if out.Summary.SidecarCPU != "900m" {
		t.Errorf("all sidecars take %s", out.Summary.SidecarCPU)
	}
	found := 0
	for _, u := range out.Usage {
		if u.Component == v1alpha1.ComponentCallerSidecar && u.Arm == v1alpha1.ArmDapr {
			found++
			// Each sends 50 requests/s.
			if u.CPU.String() != "200m" || u.CPUPer1000RPS.String() != "4" {
				t.Errorf("%s: %s, %s for each 1000 of its own requests/s", u.Pod, u.CPU, u.CPUPer1000RPS)
			}
		}
	}
	if found != 2 {
		t.Errorf("usage of %d callers' sidecars", found)
	}
	if alone := build(t, synthetic(t)); alone.Results[0].StartSkewMax != nil {
		t.Error("one load tester has no skew")
	}
}

func TestRulesForSeveralLoadTesters(t *testing.T) {
	cases := []struct {
		name   string
		mutate func(*Input)
		reason string
		says   []string
	}{
		{"a skew at the limit", broken(func(b *measure.BlockReport) { b.StartSkew = maxStartSkew }), "", nil},
		{"a late one", broken(func(b *measure.BlockReport) {
			b.StartSkew, b.Replicas[1].Late = 101*time.Millisecond, 102*time.Millisecond
			b.Replicas[0].Late = time.Millisecond
		}), v1alpha1.ReasonStartSkew, []string{"101ms apart (allowed 100ms)", "lt-1 1ms late", "lt-2 102ms late"}},
		{"one that has too little CPU, though all together have enough", func(in *Input) {
			for i := range in.Report.Usage {
				s := &in.Report.Usage[i]
				if s.Component == "loadTester" && s.Pod == "lt-1" {
					for j := range s.Readings {
						if s.Readings[j].Block > 4 || j%2 == 1 && s.Readings[j].Block == 4 {
							s.Readings[j].CPUSeconds += 11
						}
					}
				}
			}
		}, v1alpha1.ReasonLoadTesterBusy, []string{"pod lt-1 used 1200m of the 1 vCPU"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := build(t, synthetic(t, withReplicas, c.mutate))
			if c.reason == "" {
				if len(out.InvalidBlocks) != 0 {
					t.Errorf("got %+v", out.InvalidBlocks)
				}
				return
			}
			if len(out.InvalidBlocks) != 1 || out.InvalidBlocks[0].Reason != c.reason {
				t.Fatalf("got %+v, want one %s", out.InvalidBlocks, c.reason)
			}
			for _, says := range c.says {
				if !strings.Contains(out.InvalidBlocks[0].Message, says) {
					t.Errorf("%q does not say %q", out.InvalidBlocks[0].Message, says)
				}
			}
		})
	}
}

func TestEveryLoadTesterMustBeWhereItWasAskedToBe(t *testing.T) {
	out := build(t, synthetic(t, withReplicas, func(in *Input) { in.Nodes.LoadTesters[1] = in.Nodes.Target }))
	if out.Reason != v1alpha1.ReasonWrongNodes {
		t.Errorf("%s: %s", out.Reason, out.Message)
	}
}

func TestDisagreement(t *testing.T) {
	// The second load tester's p90 in the Dapr arm, in which all together have 3 ms.
	with := func(p90 func(pair int) int64) func(*Input) {
		return func(in *Input) {
			for i := range in.Report.Blocks {
				if b := &in.Report.Blocks[i]; b.Arm == measure.Dapr {
					b.Replicas[1].P90 = ptr.To(p90(b.Pair))
				}
			}
		}
	}
	cases := []struct {
		name string
		n    int
		p90  func(pair int) int64
		want []string
	}{
		{"a little", 6, func(int) int64 { return 3290 }, nil},
		{"a lot", 6, func(pair int) int64 { return 3600 + int64(pair) }, []string{"Dapr at 4 connections", "p90 of lt-2 is 3.60", "that of all is 3.00", "told from 10%"}},
		{"below", 6, func(int) int64 { return 2000 }, []string{"p90 of lt-2 is 2ms"}},
		{"now above and now below", 6, func(pair int) int64 { return 3000 + 1500*int64(1-2*(pair%2)) + int64(pair) }, nil},
		{"without an interval", 5, func(int) int64 { return 6000 }, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := build(t, pairs(t, c.n, withReplicas, with(c.p90)))
			if len(c.want) == 0 {
				if len(out.Warnings) != 0 {
					t.Errorf("got %+v", out.Warnings)
				}
				return
			}
			if len(out.Warnings) != 1 || out.Warnings[0].Reason != v1alpha1.ReasonReplicasDisagree {
				t.Fatalf("got %+v", out.Warnings)
			}
			for _, says := range c.want {
				if !strings.Contains(out.Warnings[0].Message, says) {
					t.Errorf("%q does not say %q", out.Warnings[0].Message, says)
				}
			}
		})
	}
}

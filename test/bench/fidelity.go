package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"fortio.org/fortio/stats"
	"fortio.org/log"

	ourstats "perfrun.dev/perfrun/internal/stats"
)

// point is one load.
type point struct {
	rps         float64
	connections int
}

// Either the rate is varied or the connections, unless all combinations are asked for.
var (
	crossPoints = []point{{100, 16}, {1000, 4}, {1000, 16}, {1000, 64}}
	allPoints   = []point{{100, 4}, {100, 16}, {100, 64}, {1000, 4}, {1000, 16}, {1000, 64}}
)

// resolutions that Fortio's histogram is tried with, in seconds. The first is its default.
var resolutions = []float64{1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 1e-6}

// driven is one load by one load tester, and the truth about that very load.
type driven struct {
	loadResult
	// responses and services by the server's record, sorted, in nanoseconds.
	responses, services []int64
	unstamped           int
	// disturbed is what else ran meanwhile.
	disturbed share
}

// compared is one case at one point, driven by both.
type compared struct {
	of     benchCase
	at     point
	ours   driven
	fortio driven
}

// row is a percentile of one of them. Times are in microseconds.
type row struct {
	Case        string
	RPS         float64
	Connections int
	Percentile  float64
	// Truth of the load that ours drove, and what ours reported.
	Truth, Ours, OursError float64
	// FortioTruth is the truth of the load that Fortio drove: the same but for the machine's noise.
	FortioTruth                       float64
	FortioDefault, FortioDefaultError float64
	FortioBest, FortioBestError       float64
	// Service time, from the actual send: the truth of each, and ours.
	ServiceTruth, OursService, FortioServiceTruth float64
	// Others is how many processors other processes used while ours and Fortio's load ran.
	Others, FortioOthers float64
}

// measureFidelity drives every case at every point, by ours first and by Fortio first in turn.
func (b *bench) measureFidelity(ctx context.Context) ([]compared, error) {
	var all []compared
	for _, c := range cases {
		if c.name == instant {
			continue
		}
		for _, at := range b.points {
			one := compared{of: c, at: at}
			both := []func() error{
				func() (err error) { one.ours, err = b.drive(ctx, roleOurs, c, at); return err },
				func() (err error) { one.fortio, err = b.drive(ctx, roleFortio, c, at); return err },
			}
			first := len(all) % 2
			for _, drive := range []func() error{both[first], both[1-first]} {
				if err := drive(); err != nil {
					return nil, fmt.Errorf("case %s at %g/s over %d connections: %w", c.name, at.rps, at.connections, err)
				}
			}
			all = append(all, one)
			b.say("%s at %g/s over %d connections: done", c.name, at.rps, at.connections)
		}
	}
	return all, nil
}

// drive lets one load tester meet one case. A load that others have disturbed is driven again, and the least disturbed is taken: by
// what else ran on the machine alone, whatever the figures are.
func (b *bench) drive(ctx context.Context, role string, c benchCase, at point) (driven, error) {
	var best driven
	for attempt := range attempts {
		if err := b.awaitQuiet(ctx); err != nil {
			return best, err
		}
		got, err := b.driveOnce(ctx, role, c, at)
		if err != nil {
			return got, err
		}
		if attempt == 0 || got.disturbed.others < best.disturbed.others {
			best = got
		}
		if best.disturbed.others <= b.mostOthers {
			break
		}
		b.say("%s, %s at %g/s over %d connections: others used %.2f processors", role, c.name, at.rps, at.connections, got.disturbed.others)
	}
	return best, nil
}

// driveOnce drives one load, and works out the truth about it.
func (b *bench) driveOnce(ctx context.Context, role string, c benchCase, at point) (driven, error) {
	calls, duration := wholeLoad(at.rps, at.connections, b.duration)
	var got driven
	watched := watching()
	seen, err := b.serving(ctx, serverJob{Case: c.name, Seed: b.seed, Length: duration, Calls: calls, Record: true}, func(addr string) error {
		return b.child(ctx, role, loadJob{URL: "http://" + addr + "/echo", RPS: at.rps, Connections: at.connections, Duration: duration,
			Timeout: loadTimeout, Latencies: true, ServerPID: b.serverPID}, &got.loadResult)
	})
	if err != nil {
		return got, err
	}
	if got.disturbed, err = watched(); err != nil {
		return got, err
	}
	if got.Failed > 0 {
		return got, fmt.Errorf("%s: %d requests failed", role, got.Failed)
	}
	// Fortio leaves out a connection's last request now and then when it is late.
	if n := int64(seen.requests()); n != got.Succeeded || n < int64(calls*at.connections)*99/100 {
		return got, fmt.Errorf("%s: %d of %d requests, the server has seen %d", role, got.Succeeded, calls*at.connections, n)
	}
	there := wayAt(at, b.transit, b.seed)
	load := plannedLoad{start: got.Start, rps: at.rps, connections: at.connections, calls: calls, there: there}
	if got.responses, err = load.responses(seen); err != nil {
		return got, fmt.Errorf("%s: %w", role, err)
	}
	got.services, got.unstamped = seen.services(there), seen.Unstamped
	return got, nil
}

// fortioAt is what Fortio reports from these latencies (in seconds) at a resolution: its own histogram and its own interpolation. In
// microseconds.
func fortioAt(latencies []float64, resolution, percentile float64) float64 {
	h := stats.NewHistogram(0, resolution)
	for _, l := range latencies {
		h.Record(l)
	}
	return h.Export().CalcPercentile(percentile) * 1e6
}

// rows of the table, those percentiles left out that have too few requests beyond them. Fortio's best resolution is the one whose mean
// error over all rows is the least, known only afterwards.
func rows(all []compared) (table []row, best float64, err error) {
	// Its histogram warns of a negative variance where all latencies are alike.
	log.SetLogLevelQuiet(log.Critical)
	best, least := 0.0, math.Inf(1)
	for _, resolution := range resolutions {
		table, err := rowsAt(all, resolution)
		if err != nil {
			return nil, 0, err
		}
		if mean := meanError(table); mean < least {
			best, least = resolution, mean
		}
	}
	table, err = rowsAt(all, best)
	return table, best, err
}

func meanError(table []row) float64 {
	var sum float64
	for _, r := range table {
		sum += math.Abs(r.FortioBestError)
	}
	return sum / float64(max(1, len(table)))
}

func rowsAt(all []compared, resolution float64) (table []row, err error) {
	for _, one := range all {
		response, err := ourstats.Decode(one.ours.Response)
		if err != nil {
			return nil, fmt.Errorf("reading our histogram: %w", err)
		}
		service, err := ourstats.Decode(one.ours.Service)
		if err != nil {
			return nil, fmt.Errorf("reading our histogram: %w", err)
		}
		for i, p := range percentiles {
			truth, ok := quantile(one.ours.responses, p/100)
			fortioTruth, okFortio := quantile(one.fortio.responses, p/100)
			ours, okOurs := response.Quantile(p / 100)
			if !ok || !okFortio || !okOurs {
				continue
			}
			r := row{Case: one.of.name, RPS: one.at.rps, Connections: one.at.connections, Percentile: p,
				Truth: micros(truth), FortioTruth: micros(fortioTruth), Ours: micros(int64(ours)),
				Others: one.ours.disturbed.others, FortioOthers: one.fortio.disturbed.others,
				FortioDefault: one.fortio.Percentiles[i] * 1e6, FortioBest: fortioAt(one.fortio.Latencies, resolution, p)}
			r.OursError = relativeError(r.Ours, r.Truth)
			r.FortioDefaultError = relativeError(r.FortioDefault, r.FortioTruth)
			r.FortioBestError = relativeError(r.FortioBest, r.FortioTruth)
			serviceTruth, _ := quantile(one.ours.services, p/100)
			fortioService, _ := quantile(one.fortio.services, p/100)
			oursService, _ := service.Quantile(p / 100)
			r.ServiceTruth, r.FortioServiceTruth, r.OursService = micros(serviceTruth), micros(fortioService), micros(int64(oursService))
			table = append(table, r)
		}
	}
	return table, nil
}

func micros(ns int64) float64 { return float64(ns) / float64(time.Microsecond) }

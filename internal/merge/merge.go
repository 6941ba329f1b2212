// Package merge makes one report of those of several load testers that shared a load: counts are added, histograms merged without loss, and
// what cannot be merged, such as percentiles, is kept for each. It calls nothing and has no clock.
package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/stats"
)

// Share is what one load tester recorded of its share of the load.
type Share struct {
	// Pod that it ran in.
	Pod string
	// ClockOffset is by how much its clock was ahead of the operator's. Moments of the report are moved by it.
	ClockOffset time.Duration
	Report      *measure.Report
}

// at is a moment of the share's report by the operator's clock.
func (s Share) at(t time.Time) time.Time { return t.Add(-s.ClockOffset) }

// usage is the share's, by the operator's clock.
func (s Share) usage() []measure.Series {
	out := slices.Clone(s.Report.Usage)
	for i := range out {
		out[i].Readings = slices.Clone(out[i].Readings)
		for j := range out[i].Readings {
			out[i].Readings[j].Time = s.at(out[i].Readings[j].Time)
		}
	}
	return out
}

// block is one of the share's, by the operator's clock.
func (s Share) block(index int) *measure.BlockReport {
	b := s.Report.Blocks[index]
	b.Due, b.Start, b.End = s.at(b.Due), s.at(b.Start), s.at(b.End)
	return &b
}

// Reports merges the shares of one load, in the order of their plans. One share alone is the whole, and stays as it is. An error means that
// they do not belong together, or cannot be read.
func Reports(shares []Share) (*measure.Report, error) {
	first := shares[0].Report
	if len(shares) == 1 {
		return first, nil
	}
	out := *first
	out.RPS, out.Usage, out.Windows, out.Blocks = 0, nil, nil, nil
	// The sink is one for all, and was read by the first.
	out.Observed.Traced, out.Observed.Sampled, out.Observed.Sent = 0, 0, 0
	for _, s := range shares {
		r := s.Report
		if len(r.Blocks) != len(first.Blocks) {
			return nil, fmt.Errorf("merging reports: %s has %d blocks, %s has %d", s.Pod, len(r.Blocks), shares[0].Pod, len(first.Blocks))
		}
		out.RPS += r.RPS
		out.Observed.Traced += r.Observed.Traced
		out.Observed.Sampled += r.Observed.Sampled
		out.Observed.Sent += r.Observed.Sent
		out.Usage = append(out.Usage, s.usage()...)
		out.Windows = append(out.Windows, r.Windows...)
		out.Replicas = append(out.Replicas, measure.Replica{Pod: s.Pod, CPUs: r.Observed.CPUs, ClockOffset: s.ClockOffset})
	}
	for i := range first.Blocks {
		b, err := merged(shares, i)
		if err != nil {
			return nil, fmt.Errorf("merging block %d: %w", i, err)
		}
		out.Blocks = append(out.Blocks, b)
	}
	return &out, nil
}

// merged is one block of all shares.
func merged(shares []Share, index int) (measure.BlockReport, error) {
	first := shares[0].block(index)
	out := measure.BlockReport{Block: first.Block, Due: first.Due, Errors: map[int]int64{}, Steal: map[string]float64{}}
	out.Connections = 0
	response, service, lag := stats.NewHistogram(), stats.NewHistogram(), stats.NewHistogram()
	for i, s := range shares {
		b := s.block(index)
		if b.Point != out.Point || b.Arm != out.Arm || b.Pair != out.Pair {
			return out, fmt.Errorf("%s has %s of pair %d at point %d there, %s has %s of pair %d at point %d",
				s.Pod, b.Arm, b.Pair, b.Point, shares[0].Pod, out.Arm, out.Pair, out.Point)
		}
		// Shares begin within one interval of a connection.
		if apart := b.Due.Sub(first.Due); apart < 0 || apart.Seconds() > float64(b.Connections)/s.Report.RPS {
			return out, fmt.Errorf("%s was to begin %s after %s: they were given different schedules", s.Pod, apart, shares[0].Pod)
		}
		own, err := stats.Decode(b.Response)
		if err != nil {
			return out, fmt.Errorf("reading the response times of %s: %w", s.Pod, err)
		}
		response.Merge(own)
		for encoded, into := range map[*measure.EncodedHistogram]*stats.Histogram{&b.Service: service, &b.Lag: lag} {
			h, err := stats.Decode(*encoded)
			if err != nil {
				return out, fmt.Errorf("reading the histograms of %s: %w", s.Pod, err)
			}
			into.Merge(h)
		}
		add(&out, b)
		out.Replicas = append(out.Replicas, replica(b, own))
		for _, line := range b.Timelines {
			line.Replica = i
			out.Timelines = append(out.Timelines, line)
		}
	}
	out.StartSkew = skew(out.Replicas)
	out.Calls = calls(shares, index, out.Start)
	for into, h := range map[*measure.EncodedHistogram]*stats.Histogram{&out.Response: response, &out.Service: service, &out.Lag: lag} {
		encoded, err := h.Encode()
		if err != nil {
			return out, fmt.Errorf("writing its histograms: %w", err)
		}
		*into = encoded
	}
	return out, nil
}

// calls of all shares' blocks one by one, in the order in which they were due; nil unless all have kept theirs.
func calls(shares []Share, index int, start time.Time) *measure.Calls {
	type call struct{ due, response int64 }
	var all []call
	for _, s := range shares {
		b := s.block(index)
		if b.Calls == nil {
			return nil
		}
		late := b.Start.Sub(start).Microseconds()
		for i, due := range b.Calls.Due {
			all = append(all, call{due + late, b.Calls.Response[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.due, b.due) })
	out := &measure.Calls{}
	for _, one := range all {
		out.Due, out.Response = append(out.Due, one.due), append(out.Response, one.response)
	}
	return out
}

// add adds the counts of a share's block, and widens the time.
func add(out *measure.BlockReport, b *measure.BlockReport) {
	out.Connections += b.Connections
	out.Planned += b.Planned
	out.Succeeded += b.Succeeded
	out.Skipped += b.Skipped
	out.Unstamped += b.Unstamped
	out.Steady += b.Steady
	// The shares go on side by side: their answers add up, their time does not.
	out.SteadyTime = max(out.SteadyTime, b.SteadyTime)
	for code, n := range b.Errors {
		out.Errors[code] += n
	}
	maps.Copy(out.Steal, b.Steal)
	if out.Start.IsZero() || b.Start.Before(out.Start) {
		out.Start = b.Start
	}
	if b.End.After(out.End) {
		out.End = b.End
	}
}

func replica(b *measure.BlockReport, response *stats.Histogram) measure.ReplicaBlock {
	at := func(q float64) *int64 {
		d, ok := response.Quantile(q)
		if !ok {
			return nil
		}
		micros := d.Microseconds()
		return &micros
	}
	return measure.ReplicaBlock{Start: b.Start, Late: b.Start.Sub(b.Due), Succeeded: b.Succeeded, P50: at(0.5), P90: at(0.9), P99: at(0.99)}
}

// skew is how far apart the shares of a block began, but for their places in the common schedule.
func skew(replicas []measure.ReplicaBlock) time.Duration {
	late := make([]time.Duration, len(replicas))
	for i, r := range replicas {
		late[i] = r.Late
	}
	return slices.Max(late) - slices.Min(late)
}

package loadtester

import (
	"context"
	"sync"
	"time"

	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/usage"
)

// sampleEvery is how often memory is looked at within a block.
const sampleEvery = time.Second

// counters reads what the plan says, and keeps the readings by series.
type counters struct {
	procRoot string
	fetch    usage.Fetcher
	list     []*counter
}

// counter is one place to read, with one series, or two if there is a sidecar.
type counter struct {
	measure.Counter
	own, sidecar *measure.Series
	// node at the last reading.
	node *measure.NodeCPU
}

func newCounters(plan *measure.Plan, procRoot string) *counters {
	c := &counters{procRoot: procRoot}
	for _, place := range plan.Counters {
		series := func(component string) *measure.Series {
			return &measure.Series{Component: component, Pod: place.Pod, Source: place.Source, Readings: []measure.Reading{}}
		}
		one := &counter{Counter: place, own: series(place.Component)}
		if place.Sidecar != "" {
			one.sidecar = series(place.Sidecar)
		}
		c.list = append(c.list, one)
	}
	return c
}

func everything(measure.Source) bool { return true }

// cheap sources are read within a block too. A page of metrics costs the process that serves it more than a look at /proc, and the
// process is one that is being measured.
func cheap(s measure.Source) bool { return s != measure.SourcePrometheus }

// read reads all counters of the wanted sources at once and returns when the last is there. What cannot be read is noted in its
// series, unless it is because ctx has ended.
func (c *counters) read(ctx context.Context, block int, wanted func(measure.Source) bool) {
	var wg sync.WaitGroup
	for _, one := range c.list {
		if wanted(one.Source) {
			// Each counter is its own: no locks.
			wg.Go(func() { c.readOne(ctx, one, block) })
		}
	}
	wg.Wait()
}

func (c *counters) readOne(ctx context.Context, one *counter, block int) {
	before := time.Now()
	pod, err := c.readSource(ctx, one)
	after := time.Now()
	if err != nil {
		if ctx.Err() == nil {
			one.fail(err.Error())
		}
		return
	}
	// The counters were looked at somewhere in between; the middle is wrong by at most half the time that it took.
	at := before.Add(after.Sub(before) / 2)
	one.node = pod.Node
	one.own.Readings = append(one.own.Readings, reading(block, at, pod.App))
	switch {
	case one.sidecar == nil:
	case pod.Sidecar == nil:
		one.sidecar.Error = "no daprd is visible in the pod"
	default:
		one.sidecar.Readings = append(one.sidecar.Readings, reading(block, at, *pod.Sidecar))
	}
}

func (c *counters) readSource(ctx context.Context, one *counter) (measure.PodUsage, error) {
	switch one.Source {
	case measure.SourceLocalProc:
		pod, err := usage.ReadPod(c.procRoot)
		pod.Node = usage.ReadNode(c.procRoot)
		return pod, err
	case measure.SourceRemoteProc:
		return c.fetch.Pod(ctx, one.URL)
	default:
		process, err := c.fetch.Prometheus(ctx, one.URL)
		return measure.PodUsage{App: process}, err
	}
}

func (one *counter) fail(reason string) {
	one.own.Error = reason
	if one.sidecar != nil {
		one.sidecar.Error = reason
	}
}

func reading(block int, at time.Time, u measure.Usage) measure.Reading {
	return measure.Reading{Block: block, Time: at, CPUSeconds: u.CPUSeconds, Resident: u.Resident, Anonymous: u.Anonymous,
		Started: u.Started, Throttling: u.Throttling}
}

// sampling reads the cheap sources once a second until the returned function is called, which waits for the end of it.
func (c *counters) sampling(ctx context.Context, block int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				c.read(ctx, block, cheap)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// nodes are the pods' nodes as they were last read.
func (c *counters) nodes() map[string]measure.NodeCPU {
	out := map[string]measure.NodeCPU{}
	for _, one := range c.list {
		if one.node != nil {
			out[one.Pod] = *one.node
		}
	}
	return out
}

// steal is the stolen share of each pod's node between two looks.
func steal(before, after map[string]measure.NodeCPU) map[string]float64 {
	out := map[string]float64{}
	for pod, b := range before {
		if a, ok := after[pod]; ok && a.Total > b.Total {
			out[pod] = (a.Steal - b.Steal) / (a.Total - b.Total)
		}
	}
	return out
}

func (c *counters) series() []measure.Series {
	all := []measure.Series{}
	for _, one := range c.list {
		all = append(all, *one.own)
		if one.sidecar != nil {
			all = append(all, *one.sidecar)
		}
	}
	return all
}

package results

import (
	"fmt"
	"slices"
	"time"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// interruption is a span of time, by the load tester's clock, in which one of the run's containers went and another came.
type interruption struct {
	from, until     time.Time
	reason, message string
}

func (i interruption) touches(b block) bool { return i.from.Before(b.End) && i.until.After(b.Start) }

// interruptions are seen in the readings: a container's oldest process has another starting time than at the reading before, or the
// readings end. The API server's times would say the same, but by another clock and in whole seconds.
func interruptions(in Input) []interruption {
	var out []interruption
	for _, c := range in.Components {
		if c.ControlPlane {
			continue
		}
		for _, s := range seriesOf(in.Report, c) {
			out = append(out, restarts(c, s)...)
		}
		if slices.Contains(in.Replaced, c.Pod) && c.Component == v1alpha1.ComponentApp {
			from, until := ending(in.Report, seriesOf(in.Report, c))
			out = append(out, interruption{from, until, v1alpha1.ReasonPodMoved, fmt.Sprintf("the target's pod %s was replaced by another", c.Pod)})
		}
	}
	return out
}

// restarts of a component's container that a series shows.
func restarts(c Component, s *measure.Series) []interruption {
	var out []interruption
	message := fmt.Sprintf("%s in pod %s restarted%s", c.Component, c.Pod, lastEnd(c))
	for i, r := range s.Readings {
		if i == 0 || r.Started == 0 || s.Readings[i-1].Started == 0 || r.Started == s.Readings[i-1].Started {
			continue
		}
		out = append(out, interruption{s.Readings[i-1].Time, r.Time, v1alpha1.ReasonRestarted, message})
	}
	return out
}

// ending is the time from the last reading of a pod's processes to the end of the measurement.
func ending(r *measure.Report, all []*measure.Series) (from, until time.Time) {
	if len(r.Blocks) == 0 {
		return from, until
	}
	from, until = r.Blocks[0].Start, r.Blocks[len(r.Blocks)-1].End
	for _, s := range all {
		if n := len(s.Readings); n > 0 && s.Source != measure.SourcePrometheus {
			from = s.Readings[n-1].Time
		}
	}
	return from, until
}

// lastEnd tells how a restarted container ended; nothing where that is not known.
func lastEnd(c Component) string {
	if c.RestartReason == "" {
		return ""
	}
	return ", last after " + c.RestartReason
}

// interrupted are the restarts over the whole measurement, as the API server has counted them: those between blocks, too.
func interrupted(in Input) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	add := func(reason, format string, args ...any) {
		out = append(out, v1alpha1.Reason{Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	for _, pod := range in.Replaced {
		add(v1alpha1.ReasonPodMoved, "the target's pod %s was replaced by another during the measurement", pod)
	}
	for _, c := range in.Components {
		if !c.ControlPlane && c.Restarts > 0 {
			add(v1alpha1.ReasonRestarted, "%s in pod %s restarted %d time(s) during the measurement%s", c.Component, c.Pod, c.Restarts, lastEnd(c))
		}
	}
	return out
}

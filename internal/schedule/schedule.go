// Package schedule decides what a PerfSchedule has to do: which runs are due, what they are called, which to give up and which to delete. No client, no
// clock: the time is part of the observation.
package schedule

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// AnnotationTrigger on a PerfSchedule asks for a run now: each new value for one, whatever the schedule, a suspension or the concurrency policy say.
const AnnotationTrigger = "perfrun.dev/trigger"

// maxMissed is how many scheduled times are counted one by one; as for a CronJob, more than that at once are a wrong clock or a long absence.
const maxMissed = 100

// Timetable is a schedule in its time zone.
type Timetable struct {
	cron cron.Schedule
	zone *time.Location
}

// Parse reads a schedule. The error is a sentence for the condition Accepted.
func Parse(spec, zone string) (Timetable, error) {
	if strings.EqualFold(zone, "local") {
		return Timetable{}, &Invalid{v1alpha1.ReasonUnknownTimeZone, "timeZone Local would be the operator's own; name one of the IANA database, such as Europe/Berlin"}
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Timetable{}, &Invalid{v1alpha1.ReasonUnknownTimeZone, fmt.Sprintf("there is no time zone %q in the IANA database; take one such as Europe/Berlin or Etc/UTC", zone)}
	}
	parsed, err := cron.ParseStandard(spec)
	if err != nil {
		return Timetable{}, &Invalid{v1alpha1.ReasonInvalidSchedule, fmt.Sprintf("schedule %q cannot be read (%v); it takes five fields, such as \"0 3 * * *\"", spec, err)}
	}
	return Timetable{parsed, location}, nil
}

// Invalid says why a schedule cannot be followed.
type Invalid struct{ Reason, Message string }

func (i *Invalid) Error() string { return i.Message }

// After is the first scheduled time after t; ok is false where there is none within five years, as for the 30th of February.
func (t Timetable) After(from time.Time) (next time.Time, ok bool) {
	next = t.cron.Next(from.In(t.zone))
	return next, !next.IsZero()
}

// latest is the last scheduled time in (after, until], and how many there are; counting ends a little above maxMissed.
func (t Timetable) latest(after, until time.Time) (last time.Time, count int) {
	for next, ok := t.After(after); ok && !next.After(until); next, ok = t.After(next) {
		last = next
		if count++; count > maxMissed {
			return t.latestBefore(until), count
		}
	}
	return last, count
}

// latestBefore looks back from until, a longer and longer time, since cron only knows how to look ahead.
func (t Timetable) latestBefore(until time.Time) time.Time {
	var last time.Time
	for back := 2 * time.Hour; last.IsZero() && back < 10*365*24*time.Hour; back *= 24 {
		for next, ok := t.After(until.Add(-back)); ok && !next.After(until); next, ok = t.After(next) {
			last = next
		}
	}
	return last
}

// Observation is all that a decision depends on.
type Observation struct {
	Now      time.Time
	Schedule *v1alpha1.PerfSchedule
	Settings v1alpha1.ScheduleSettings
	// Runs are all that belong to the schedule and are not being deleted.
	Runs []v1alpha1.PerfRun
}

// Run is one to be created.
type Run struct {
	Name string
	// Time that it is scheduled for; for a manual run, now.
	Time time.Time
	// Manual: asked for by the annotation.
	Manual bool
}

// Decision is what there is to do.
type Decision struct {
	// Create, Replace and their order: what is replaced is deleted first.
	Create  []Run
	Replace []string
	// Skipped is 1 if a run was due that another forbids; Missed is how many others passed.
	Skipped, Missed int64
	// TooMany: so many were missed that they were not counted to the end.
	TooMany bool
	// Decided is the last scheduled time that is settled; zero if none is.
	Decided time.Time
	// Next is when a run is due next; zero if none is.
	Next time.Time
}

// Decide says which runs are due. It is for an accepted schedule.
func Decide(o Observation, t Timetable) Decision {
	var d Decision
	if run, asked := triggered(o); asked {
		d.Create = append(d.Create, run)
	}
	from, changed := settledUntil(o)
	if changed {
		d.Decided = from
	}
	if ptr.Deref(o.Schedule.Spec.Suspend, false) {
		return d
	}
	if next, ok := t.After(o.Now); ok {
		d.Next = next
	}
	due, count := t.latest(from, o.Now)
	if count == 0 {
		return d
	}
	d.Decided = due
	d.Missed, d.TooMany = int64(min(count, maxMissed)), count > maxMissed
	if deadline := o.Schedule.Spec.StartingDeadlineSeconds; deadline != nil && o.Now.Sub(due) > time.Duration(*deadline)*time.Second {
		return d
	}
	d.Missed--
	run := Run{Name: Name(o.Schedule.Name, due), Time: due}
	active := Active(o.Runs)
	switch {
	case slices.ContainsFunc(o.Runs, func(r v1alpha1.PerfRun) bool { return r.Name == run.Name }):
		// It was created before, and the status that should have said so was lost.
	case len(active) > 0 && o.Settings.ConcurrencyPolicy == v1alpha1.ConcurrencyForbid:
		d.Skipped = 1
		return d
	case o.Settings.ConcurrencyPolicy == v1alpha1.ConcurrencyReplace:
		d.Replace = active
	}
	d.Create = append(d.Create, run)
	return d
}

// settledUntil is the time up to which nothing is due any more: that of the last decision, at first the schedule's creation. Where the
// schedule itself has changed since, the new one begins now, since none of its times has passed yet.
func settledUntil(o Observation) (from time.Time, changed bool) {
	s := o.Schedule
	former := s.Status.Settings
	switch {
	case former != nil && (former.Schedule != o.Settings.Schedule || former.TimeZone != o.Settings.TimeZone):
		return o.Now, true
	case s.Status.DecidedTime != nil:
		return s.Status.DecidedTime.Time, false
	default:
		return s.CreationTimestamp.Time, false
	}
}

func triggered(o Observation) (run Run, asked bool) {
	value := o.Schedule.Annotations[AnnotationTrigger]
	if value == "" || value == o.Schedule.Status.LastTrigger {
		return Run{}, false
	}
	return Run{Name: ManualName(o.Schedule.Name, value), Time: o.Now, Manual: true}, true
}

// ManualName of the run that a value of AnnotationTrigger asks for.
func ManualName(schedule, value string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(value))
	return fmt.Sprintf("%s-manual-%08x", schedule, hash.Sum32())
}

// Name of the run for a scheduled time, as a CronJob names its Jobs: the minutes since 1970. The same time gives the same name, so that it is
// created once.
func Name(schedule string, at time.Time) string {
	return fmt.Sprintf("%s-%d", schedule, at.Unix()/60)
}

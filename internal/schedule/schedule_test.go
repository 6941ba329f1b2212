package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"perfrun.dev/perfrun/api/v1alpha1"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// nightly is a schedule that was created at noon of 1 March 2026 and has decided on nothing yet.
func nightly(mutate ...func(*v1alpha1.PerfSchedule)) *v1alpha1.PerfSchedule {
	s := &v1alpha1.PerfSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: "nightly", CreationTimestamp: metav1.NewTime(at("2026-03-01T12:00:00Z"))},
		Spec:       v1alpha1.PerfScheduleSpec{Schedule: "0 3 * * *"},
	}
	for _, m := range mutate {
		m(s)
	}
	return s
}

func decide(t *testing.T, s *v1alpha1.PerfSchedule, now string, runs ...v1alpha1.PerfRun) Decision {
	t.Helper()
	settings := s.Spec.EffectiveSettings()
	table, err := Parse(settings.Schedule, settings.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	return Decide(Observation{Now: at(now), Schedule: s, Settings: settings, Runs: runs}, table)
}

// summary is a decision in a line.
func summary(d Decision) string {
	var out []string
	for _, name := range d.Replace {
		out = append(out, "replace "+name)
	}
	for _, run := range d.Create {
		out = append(out, "create "+run.Name)
	}
	if d.Skipped > 0 {
		out = append(out, fmt.Sprintf("skip %d", d.Skipped))
	}
	if d.Missed > 0 {
		out = append(out, fmt.Sprintf("miss %d", d.Missed))
	}
	if d.TooMany {
		out = append(out, "too many")
	}
	if !d.Decided.IsZero() {
		out = append(out, "decided "+d.Decided.UTC().Format("01-02T15:04"))
	}
	if !d.Next.IsZero() {
		out = append(out, "next "+d.Next.UTC().Format("01-02T15:04"))
	}
	return strings.Join(out, ", ")
}

func run(name string, phase v1alpha1.Phase, created string) v1alpha1.PerfRun {
	return v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at(created))}, Status: v1alpha1.PerfRunStatus{Phase: phase}}
}

func TestDecide(t *testing.T) {
	decided := func(when string) func(*v1alpha1.PerfSchedule) {
		return func(s *v1alpha1.PerfSchedule) {
			s.Status.DecidedTime = &metav1.Time{Time: at(when)}
			s.Status.Settings = ptr.To(s.Spec.EffectiveSettings())
		}
	}
	policy := func(p v1alpha1.ConcurrencyPolicy) func(*v1alpha1.PerfSchedule) {
		return func(s *v1alpha1.PerfSchedule) { s.Spec.ConcurrencyPolicy = &p }
	}
	deadline := func(s *v1alpha1.PerfSchedule) { s.Spec.StartingDeadlineSeconds = ptr.To[int64](600) }
	suspend := func(s *v1alpha1.PerfSchedule) { s.Spec.Suspend = ptr.To(true) }
	each := func(spec string) func(*v1alpha1.PerfSchedule) {
		return func(s *v1alpha1.PerfSchedule) { s.Spec.Schedule = spec }
	}
	zone := func(name string) func(*v1alpha1.PerfSchedule) {
		return func(s *v1alpha1.PerfSchedule) { s.Spec.TimeZone = &name }
	}
	trigger := func(value, last string) func(*v1alpha1.PerfSchedule) {
		return func(s *v1alpha1.PerfSchedule) {
			s.Annotations, s.Status.LastTrigger = map[string]string{AnnotationTrigger: value}, last
		}
	}
	all := func(m ...func(*v1alpha1.PerfSchedule)) *v1alpha1.PerfSchedule { return nightly(m...) }
	busy := run("nightly-old", v1alpha1.PhaseMeasuring, "2026-03-01T20:00:00Z")
	done := run("nightly-old", v1alpha1.PhaseSucceeded, "2026-03-01T20:00:00Z")
	// 29540340 minutes after 1970 it was 3 o'clock on 2 March 2026.
	const due = "nightly-29540340"
	for _, c := range []struct {
		name     string
		schedule *v1alpha1.PerfSchedule
		now      string
		runs     []v1alpha1.PerfRun
		want     string
	}{
		{"before its first time", all(), "2026-03-02T02:59:59Z", nil, "next 03-02T03:00"},
		{"at its time", all(), "2026-03-02T03:00:00Z", nil, "create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"once decided", all(decided("2026-03-02T03:00:00Z")), "2026-03-02T03:00:30Z", nil, "next 03-03T03:00"},
		{"late, without a deadline", all(), "2026-03-02T09:00:00Z", nil, "create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"late, within the deadline", all(deadline), "2026-03-02T03:10:00Z", nil, "create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"past the deadline", all(deadline), "2026-03-02T03:10:01Z", nil, "miss 1, decided 03-02T03:00, next 03-03T03:00"},
		{"some times late", all(decided("2026-02-26T03:00:00Z")), "2026-03-02T03:00:00Z", nil, "create " + due + ", miss 3, decided 03-02T03:00, next 03-03T03:00"},
		{"many times late", all(each("* * * * *"), decided("2026-02-01T03:00:00Z")), "2026-03-02T03:00:30Z", nil,
			"create " + due + ", miss 99, too many, decided 03-02T03:00, next 03-02T03:01"},
		{"many times late, seldom due", all(each("0 3 2 * *"), decided("2010-01-02T03:00:00Z")), "2026-03-02T03:00:30Z", nil,
			"create " + due + ", miss 99, too many, decided 03-02T03:00, next 04-02T03:00"},
		{"Forbid", all(), "2026-03-02T03:00:00Z", []v1alpha1.PerfRun{busy}, "skip 1, decided 03-02T03:00, next 03-03T03:00"},
		{"Forbid, with a finished run", all(), "2026-03-02T03:00:00Z", []v1alpha1.PerfRun{done}, "create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"Forbid, when the status was lost", all(), "2026-03-02T03:00:00Z", []v1alpha1.PerfRun{run(due, "", "2026-03-02T03:00:00Z")},
			"create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"Allow", all(policy(v1alpha1.ConcurrencyAllow)), "2026-03-02T03:00:00Z", []v1alpha1.PerfRun{busy}, "create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"Replace", all(policy(v1alpha1.ConcurrencyReplace)), "2026-03-02T03:00:00Z", []v1alpha1.PerfRun{busy},
			"replace nightly-old, create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"Replace, when the status was lost", all(policy(v1alpha1.ConcurrencyReplace)), "2026-03-02T03:00:00Z", []v1alpha1.PerfRun{run(due, "", "2026-03-02T03:00:00Z")},
			"create " + due + ", decided 03-02T03:00, next 03-03T03:00"},
		{"suspended", all(suspend), "2026-03-02T03:00:00Z", nil, ""},
		{"suspended, with a trigger", all(suspend, trigger("a", "")), "2026-03-02T03:00:00Z", nil, "create nightly-manual-e40c292c"},
		{"suspended with another schedule", all(decided("2026-03-01T03:00:00Z"), each("0 4 * * *"), suspend), "2026-03-02T05:00:00Z", nil, "decided 03-02T05:00"},
		{"another schedule, of which a time has passed", all(decided("2026-03-01T03:00:00Z"), each("0 4 * * *")), "2026-03-02T05:00:00Z", nil, "decided 03-02T05:00, next 03-03T04:00"},
		{"a trigger while another run goes on", all(trigger("a", "")), "2026-03-01T21:00:00Z", []v1alpha1.PerfRun{busy}, "create nightly-manual-e40c292c, next 03-02T03:00"},
		{"a trigger that was seen", all(trigger("a", "a")), "2026-03-01T21:00:00Z", nil, "next 03-02T03:00"},
		{"another trigger", all(trigger("b", "a")), "2026-03-01T21:00:00Z", nil, "create nightly-manual-e70c2de5, next 03-02T03:00"},
		{"a time zone", all(zone("America/New_York")), "2026-03-02T03:00:00Z", nil, "next 03-02T08:00"},
		{"never", all(each("0 3 30 2 *")), "2026-03-02T03:00:00Z", nil, ""},
		{"a name of a day", all(each("0 3 * * mon")), "2026-03-02T03:00:00Z", nil, "create " + due + ", decided 03-02T03:00, next 03-09T03:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, summary(decide(t, c.schedule, c.now, c.runs...))); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// In Berlin, the clocks went from 2:00 to 3:00 on 29 March 2026, and go from 3:00 to 2:00 on 25 October.
func TestClockChanges(t *testing.T) {
	for _, c := range []struct{ spec, from, until, want string }{
		{"30 2 * * *", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z", "03-28T01:30 03-30T00:30"},
		{"30 3 * * *", "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z", "03-28T02:30 03-29T01:30"},
		{"30 2 * * *", "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z", "10-24T00:30 10-25T00:30 10-25T01:30 10-26T01:30"},
	} {
		table, err := Parse(c.spec, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for next, ok := table.After(at(c.from)); ok && next.Before(at(c.until)); next, ok = table.After(next) {
			got = append(got, next.UTC().Format("01-02T15:04"))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s from %s (-want +got):\n%s", c.spec, c.from, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ spec, zone, reason string }{
		{"61 3 * * *", "Etc/UTC", v1alpha1.ReasonInvalidSchedule},
		{"0 5-3 * * *", "Etc/UTC", v1alpha1.ReasonInvalidSchedule},
		{"0 3 * *", "Etc/UTC", v1alpha1.ReasonInvalidSchedule},
		{"0 3 * * *", "Europe/Atlantis", v1alpha1.ReasonUnknownTimeZone},
		{"0 3 * * *", "Local", v1alpha1.ReasonUnknownTimeZone},
	} {
		_, err := Parse(c.spec, c.zone)
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Reason != c.reason {
			t.Errorf("%s in %s: %v, want %s", c.spec, c.zone, err, c.reason)
		}
	}
}

func TestExpired(t *testing.T) {
	runs := []v1alpha1.PerfRun{
		run("new", v1alpha1.PhaseSucceeded, "2026-03-05T00:00:00Z"),
		run("old", v1alpha1.PhaseSucceeded, "2026-03-01T00:00:00Z"),
		run("mid", v1alpha1.PhaseSucceeded, "2026-03-03T00:00:00Z"),
		run("bad", v1alpha1.PhaseError, "2026-03-02T00:00:00Z"),
		run("worse", v1alpha1.PhaseInconclusive, "2026-03-04T00:00:00Z"),
		run("busy", v1alpha1.PhaseMeasuring, "2026-02-01T00:00:00Z"),
	}
	for _, c := range []struct {
		successful, failed int32
		want               []string
	}{
		{3, 3, nil},
		{2, 1, []string{"old", "bad"}},
		{0, 0, []string{"old", "bad", "mid", "worse", "new"}},
	} {
		got := Expired(runs, v1alpha1.ScheduleSettings{SuccessfulRunsHistoryLimit: c.successful, FailedRunsHistoryLimit: c.failed})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d and %d (-want +got):\n%s", c.successful, c.failed, diff)
		}
	}
	if diff := cmp.Diff([]string{"busy"}, Active(runs)); diff != "" {
		t.Errorf("active (-want +got):\n%s", diff)
	}
}

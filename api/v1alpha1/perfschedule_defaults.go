package v1alpha1

import "k8s.io/utils/ptr"

// Defaults of a PerfSchedule. Forbid and the zone are not a CronJob's own: those are Allow, and the controller's zone.
const (
	DefaultTimeZone               = "Etc/UTC"
	DefaultRunsHistoryLimit int32 = 3
	// DefaultMinChange is as small as is worth a person's time; most figures need more than that to be told from their noise.
	DefaultMinChange = "0.05"
)

// EffectiveSettings resolves the defaults of a spec. It never changes the spec.
func (s *PerfScheduleSpec) EffectiveSettings() ScheduleSettings {
	out := ScheduleSettings{
		Schedule:                   s.Schedule,
		TimeZone:                   ptr.Deref(s.TimeZone, DefaultTimeZone),
		ConcurrencyPolicy:          ptr.Deref(s.ConcurrencyPolicy, ConcurrencyForbid),
		SuccessfulRunsHistoryLimit: ptr.Deref(s.SuccessfulRunsHistoryLimit, DefaultRunsHistoryLimit),
		FailedRunsHistoryLimit:     ptr.Deref(s.FailedRunsHistoryLimit, DefaultRunsHistoryLimit),
		MinChange:                  DefaultMinChange,
	}
	if d := s.Detection; d != nil {
		out.MinChange = ptr.Deref(d.MinChange, out.MinChange)
		out.IgnoreNodes = ptr.Deref(d.IgnoreNodes, false)
		out.AcceptedUntil = d.AcceptedUntil
	}
	return out
}

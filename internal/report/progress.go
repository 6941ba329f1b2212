package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Progress shows how a run goes on: one line that is rewritten on a terminal, and a line now and then elsewhere.
type Progress struct {
	// Out to write to.
	Out io.Writer
	// Start that elapsed time is counted from.
	Start time.Time
	// Live: Out is a terminal.
	Live bool

	last   string
	lastAt time.Time
	width  int
}

// quiet is how long a log may stay without a line.
const quiet = 15 * time.Second

// Show tells where the run is at this moment.
func (p *Progress) Show(now time.Time, run *v1alpha1.PerfRun) {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		p.Say(now, "waiting for the operator to look at the PerfRun")
		return
	}
	if run.Status.Phase.Finished() {
		p.Say(now, string(run.Status.Phase))
		return
	}
	progress := run.Status.Progress
	if run.Status.Phase != v1alpha1.PhaseMeasuring || progress == nil {
		p.Say(now, fmt.Sprintf("%s: %s", run.Status.Phase, c.Message))
		return
	}
	text := fmt.Sprintf("%s %3d%%  %s", bar(progress.Percent), progress.Percent, progress.Activity)
	if end := progress.EstimatedCompletion; end != nil && end.After(now) {
		text += fmt.Sprintf(", about %s to go", end.Sub(now).Round(time.Second))
	}
	p.Say(now, text+latest(progress.Latest))
}

// latest is what the blocks came to that were measured last.
func latest(blocks []v1alpha1.BlockLatency) string {
	var out string
	for _, b := range blocks {
		if b.P50 != nil {
			out += fmt.Sprintf("; %s p50 %s", b.Arm, b.P50)
			if b.P99 != nil {
				out += fmt.Sprintf(", p99 %s", b.P99)
			}
		}
	}
	return out
}

// Say writes a line if it says something new, or if the last one is a while ago.
func (p *Progress) Say(now time.Time, text string) {
	stamp := fmt.Sprintf("[%6.1fs] ", now.Sub(p.Start).Seconds())
	if p.Live {
		line := stamp + text
		if len(line) > 160 {
			line = line[:160]
		}
		_, _ = fmt.Fprintf(p.Out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
		p.width = len(line)
		return
	}
	// The figures in a line change all the time; its words tell whether it is new.
	words := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '#' || r == '.' {
			return -1
		}
		return r
	}, text)
	if words == p.last && now.Sub(p.lastAt) < quiet {
		return
	}
	p.last, p.lastAt = words, now
	_, _ = fmt.Fprintln(p.Out, stamp+text)
}

// End leaves the cursor on a new line.
func (p *Progress) End() { _, _ = fmt.Fprintln(p.Out) }

func bar(percent int32) string {
	const width = 20
	done := int(min(100, max(0, percent))) * width / 100
	return "[" + strings.Repeat("#", done) + strings.Repeat(".", width-done) + "]"
}

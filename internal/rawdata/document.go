// Package rawdata keeps the whole report of a run as one file that fits into a ConfigMap, reads such files, and turns them into what
// other tools read. It calls nothing, has no clock and knows nothing of Kubernetes.
//
// The file is gzip of one JSON document; docs/rawdata.schema.json describes it.
package rawdata

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	// Format of the document, by which a reader knows it.
	Format = "perfrun.dev/rawdata"
	// Version of the format. It changes when a reader of the former would misread the new one; a new field is no such thing.
	Version = 1
	// Key of the file in its ConfigMap.
	Key = "rawdata.json.gz"
)

// Document is the whole report of a run, and what run that was.
type Document struct {
	// Format and Version are the constants.
	Format  string `json:"format"`
	Version int    `json:"version"`
	// PerfRun that the report belongs to; its UID is Report.Run.
	PerfRun Name `json:"perfRun"`
	// SeriesStep is the length in seconds of the timelines' intervals, and at least the time between two readings of usage within a
	// block (those at its two ends are always there). 0: there are no timelines, and readings at the ends alone.
	SeriesStep int `json:"seriesStep"`
	// Report as the load tester gave it, or as it was merged of several, but for the series, of which each block has those of SeriesStep.
	Report measure.Report `json:"report"`
}

// Name of a PerfRun.
type Name struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (n Name) String() string { return n.Namespace + "/" + n.Name }

// digestPrefix names the hash function, as in the digests of images.
const digestPrefix = "sha256:"

// Digest of a file as it is stored: "sha256:" and 64 hexadecimal digits.
func Digest(file []byte) string {
	sum := sha256.Sum256(file)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// Verify returns an error unless the file has the digest.
func Verify(file []byte, digest string) error {
	if got := Digest(file); got != digest {
		return fmt.Errorf("the raw data are not those that were recorded: their digest is %s, the one recorded is %s", got, digest)
	}
	return nil
}

// validName is what the names of Kubernetes' objects are made of. A name becomes part of a file's name.
var validName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)

const (
	// maxBlocks is that of a plan.
	maxBlocks = 4096
	// maxPlanned requests of a block: a day at the highest rate, 100000 a second. Those of all blocks can then be counted in a float64,
	// as HdrHistogram does for a percentile; its walk through the percentiles would not end otherwise.
	maxPlanned = 24 * 3600 * 100_000
)

// validate tells what is wrong with a document that was read from somewhere: what holds of all that Encode wrote, and what the exporters
// rely on. Histograms are looked at when they are needed.
func (d *Document) validate() error {
	switch {
	case d.Format != Format:
		return fmt.Errorf("its format is %q and not %q", d.Format, Format)
	case d.Version != Version:
		return fmt.Errorf("it has version %d of the format, this perfrun reads version %d", d.Version, Version)
	case !validName.MatchString(d.PerfRun.Namespace) || !validName.MatchString(d.PerfRun.Name):
		return fmt.Errorf("%q is no name of a PerfRun", d.PerfRun.String())
	case d.SeriesStep != 0 && !slices.Contains(measure.TimelineSteps[:], d.SeriesStep):
		return fmt.Errorf("its series have a step of %d s", d.SeriesStep)
	case d.Report.RPS <= 0:
		return fmt.Errorf("its rate is %g requests/s", d.Report.RPS)
	case len(d.Report.Blocks) > maxBlocks:
		return fmt.Errorf("it has %d blocks, at most %d are possible", len(d.Report.Blocks), maxBlocks)
	}
	for i := range d.Report.Blocks {
		if err := d.validateBlock(&d.Report.Blocks[i]); err != nil {
			return fmt.Errorf("its block %d: %w", i, err)
		}
	}
	for _, s := range d.Report.Usage {
		for _, r := range s.Readings {
			if r.Block < 0 || r.Block >= len(d.Report.Blocks) {
				return fmt.Errorf("a reading of %s belongs to block %d, which there is not", s.Component, r.Block)
			}
		}
	}
	return nil
}

func (d *Document) validateBlock(b *measure.BlockReport) error {
	switch {
	case b.Arm != measure.Baseline && b.Arm != measure.Dapr:
		return fmt.Errorf("arm %q", b.Arm)
	case b.Connections < 1 || b.Point < 0:
		return fmt.Errorf("%d connections at point %d", b.Connections, b.Point)
	case b.Duration < 0 || b.End.Before(b.Start) || b.Planned < 0 || b.Succeeded < 0 || b.Skipped < 0:
		return errors.New("a negative duration or count")
	case len(b.Replicas) != len(d.Report.Replicas):
		return fmt.Errorf("it has %d replicas, the report has %d", len(b.Replicas), len(d.Report.Replicas))
	case b.Planned > maxPlanned:
		return fmt.Errorf("%d requests, at most %d are possible", b.Planned, int64(maxPlanned))
	}
	if c := b.Calls; c != nil && len(c.Due) != len(c.Response) {
		return errors.New("the columns of its calls have different lengths")
	}
	for code, n := range b.Errors {
		if n < 0 {
			return fmt.Errorf("%d errors of code %d", n, code)
		}
	}
	return d.validateTimeline(b)
}

// validateTimeline wants one of the document's step for each replica, or none if that is 0.
func (d *Document) validateTimeline(b *measure.BlockReport) error {
	want := max(1, len(b.Replicas))
	if d.SeriesStep == 0 {
		want = 0
	}
	if len(b.Timelines) != want {
		return fmt.Errorf("it has %d timelines, and should have %d", len(b.Timelines), want)
	}
	for i, t := range b.Timelines {
		if t.Step != d.SeriesStep || t.Replica != i {
			return fmt.Errorf("its timeline %d is not that of %d s", i, d.SeriesStep)
		}
		if n := len(t.Requests); len(t.P50) != n || len(t.P99) != n || t.Errors != nil && len(t.Errors) != n {
			return errors.New("the columns of its timeline have different lengths")
		}
	}
	return nil
}

// steps are those that all blocks have a timeline of, and 0.
func steps(r *measure.Report) []int {
	var out []int
	for _, step := range measure.TimelineSteps {
		missing := slices.ContainsFunc(r.Blocks, func(b measure.BlockReport) bool { return len(timelines(b, step)) != max(1, len(b.Replicas)) })
		if !missing && len(r.Blocks) > 0 {
			out = append(out, step)
		}
	}
	return append(out, 0)
}

// timelines of one step: one, or one for each replica.
func timelines(b measure.BlockReport, step int) []measure.Timeline {
	var out []measure.Timeline
	for _, t := range b.Timelines {
		if t.Step == step {
			out = append(out, t)
		}
	}
	return out
}

// armName is an arm as it is written in names of files.
func armName(a measure.Arm) string { return strings.ToLower(string(a)) }

package v1alpha1_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// perfSchedule is a PerfSchedule as a person writes it; schedule and runTemplate are as below unless the lines say otherwise.
func perfSchedule(spec string) *unstructured.Unstructured {
	GinkgoHelper()
	fields := map[string]any{
		"schedule":    "0 3 * * *",
		"runTemplate": map[string]any{"spec": map[string]any{"scenario": "Invocation"}},
	}
	Expect(yaml.Unmarshal([]byte(spec), &fields)).To(Succeed())
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "perfrun.dev/v1alpha1",
		"kind":       "PerfSchedule",
		"metadata":   map[string]any{"generateName": "test-", "namespace": "default"},
		"spec":       fields,
	}}
}

var _ = Describe("A PerfSchedule", func() {
	It("is accepted as each sample has it", func(ctx context.Context) {
		expectSamplesAccepted(ctx, "perfschedule_*.yaml")
	})

	DescribeTable("is accepted with",
		func(ctx context.Context, spec string) {
			Expect(strict.Create(ctx, perfSchedule(spec))).To(Succeed())
		},
		Entry("nothing but a schedule and a template", ""),
		Entry("every minute", `schedule: "* * * * *"`),
		Entry("lists, ranges and steps", `schedule: "0,15-30/5,*/20 1-5 1,15 */2 mon-fri"`),
		Entry("several blanks", `schedule: "0  3 * * *"`),
		Entry("a nickname", `schedule: "@daily"`),
		Entry("a time zone", "timeZone: America/Argentina/Buenos_Aires"),
		Entry("a time zone without a slash", "timeZone: UTC"),
		Entry("everything", `{timeZone: Etc/GMT+5, suspend: true, startingDeadlineSeconds: 1, concurrencyPolicy: Replace, successfulRunsHistoryLimit: 0,
			failedRunsHistoryLimit: 100, detection: {minChange: "0.1", ignoreNodes: true, acceptedUntil: "2026-03-01T00:00:00Z"},
			runTemplate: {metadata: {labels: {a: b}, annotations: {c: d}}, spec: {scenario: Actors}}}`),
		Entry("any change", `detection: {minChange: "0"}`),
		Entry("the largest change", `detection: {minChange: "10.0"}`),
	)

	DescribeTable("is refused with a sentence for",
		func(ctx context.Context, spec string, sentences ...string) {
			refused(strict.Create(ctx, perfSchedule(spec)), sentences...)
		},
		Entry("no schedule", `schedule: ""`, "spec.schedule", "at least 1 chars long"),
		Entry("four fields", `schedule: "0 3 * *"`, "spec.schedule", "must have five fields"),
		Entry("six fields", `schedule: "0 0 3 * * *"`, "spec.schedule", "must have five fields"),
		Entry("an interval", `schedule: "@every 1h"`, "spec.schedule", "must have five fields"),
		Entry("a zone in the schedule", `schedule: "TZ=UTC 0 3 * * *"`, "spec.schedule", "must have five fields"),
		Entry("a minute that no hour has", `schedule: "60 * * * *"`, "spec.schedule", "the minute, must be from 0 to 59"),
		Entry("the operator's zone", "timeZone: Local", "spec.timeZone", "a name in the IANA database, such as Europe/Berlin"),
		Entry("an offset for a zone", `timeZone: "+02:00"`, "spec.timeZone", "a name in the IANA database"),
		Entry("a way out of the database", "timeZone: ../../etc/passwd", "spec.timeZone", "a name in the IANA database"),
		Entry("no time to start", "startingDeadlineSeconds: 0", "spec.startingDeadlineSeconds", "greater than or equal to 1"),
		Entry("an unknown policy", "concurrencyPolicy: Wait", "spec.concurrencyPolicy", `supported values: "Forbid", "Allow", "Replace"`),
		Entry("a history below 0", "successfulRunsHistoryLimit: -1", "spec.successfulRunsHistoryLimit", "greater than or equal to 0"),
		Entry("a history of all", "failedRunsHistoryLimit: 101", "spec.failedRunsHistoryLimit", "less than or equal to 100"),
		Entry("a change in percent", `detection: {minChange: "10%"}`, "spec.detection.minChange", "a decimal between 0 and 10 in quotes"),
		Entry("a change below 0", `detection: {minChange: "-0.1"}`, "spec.detection.minChange", "a decimal between 0 and 10"),
		Entry("no scenario", "runTemplate: {spec: {}}", "spec.runTemplate.spec.scenario", "Required value"),
		Entry("a run that would be refused", "runTemplate: {spec: {scenario: Invocation, pairs: 5, thresholds: {added: {p90: 2ms}}}}",
			"spec.runTemplate.spec.pairs", "at least 6 with thresholds"),
		Entry("a name for the runs", "runTemplate: {metadata: {name: x}, spec: {scenario: Invocation}}", `unknown field "spec.runTemplate.metadata.name"`),
		Entry("an unknown field", "cron: '@daily'", `unknown field "spec.cron"`),
	)

	It("is refused with a name that leaves no room for a run's time", func(ctx context.Context) {
		s := perfSchedule("")
		s.SetGenerateName("")
		s.SetName(strings.Repeat("n", 53))
		refused(strict.Create(ctx, s), "must not be longer than 52 characters")
	})

	It("can change all of its template at any time", func(ctx context.Context) {
		s := perfSchedule("")
		Expect(strict.Create(ctx, s)).To(Succeed())
		for _, spec := range []string{"{schedule: '@hourly', runTemplate: {spec: {scenario: Invocation, rps: 10}}}", "{runTemplate: {spec: {scenario: Actors, rps: 20}}}"} {
			s.Object["spec"] = perfSchedule(spec).Object["spec"]
			Expect(strict.Update(ctx, s)).To(Succeed())
		}
	})
})

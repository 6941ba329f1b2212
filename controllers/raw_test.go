package controllers

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
	"perfrun.dev/perfrun/internal/rawdata"
	"perfrun.dev/perfrun/internal/stage"
)

// rawDocument reads the raw data that a run's status names, as `kubectl perfrun raw` does.
func rawDocument(ctx context.Context, run *v1alpha1.PerfRun) *rawdata.Document {
	GinkgoHelper()
	raw := run.Status.Raw
	Expect(raw).NotTo(BeNil(), "%+v", run.Status.Conditions)
	kept := &corev1.ConfigMap{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: raw.ConfigMap}, kept)).To(Succeed())
	Expect(metav1.IsControlledBy(kept, run)).To(BeTrue(), "it goes with the PerfRun")
	Expect(kept.Immutable).To(HaveValue(BeTrue()))
	Expect(kept.Labels).To(And(HaveKeyWithValue(plan.LabelRun, string(run.UID)), HaveKeyWithValue(plan.LabelManagedBy, plan.ManagedBy)))
	file := kept.BinaryData[rawdata.Key]
	Expect(file).To(HaveLen(int(raw.Bytes)))
	Expect(rawdata.Verify(file, raw.Digest)).To(Succeed())
	document, err := rawdata.Decode(file)
	Expect(err).NotTo(HaveOccurred())
	return document
}

func rawCondition(status *v1alpha1.PerfRunStatus) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRawData), metav1.Condition{})
}

// refusing is a client whose creations fail.
type refusing struct {
	client.Client
	err error
}

func (r refusing) Create(context.Context, client.Object, ...client.CreateOption) error { return r.err }

var _ = Describe("The raw data of a PerfRun", func() {
	var (
		run    *v1alpha1.PerfRun
		report = &measure.Report{Version: measure.Version, Attempt: plan.AttemptID(0), RPS: 50}
		now    time.Time
	)
	// keep does what collecting does, with an operator that has just been started.
	keep := func(ctx context.Context, c client.Client) (*v1alpha1.PerfRunStatus, error) {
		r := &PerfRunReconciler{Client: c, Live: admin}
		next := run.DeepCopy()
		err := r.keepRaw(ctx, stage.Observation{Now: now, Run: run}, report, &next.Status)
		return &next.Status, err
	}

	BeforeEach(func(ctx SpecContext) {
		run, now = newRun(ctx), time.Now()
	})

	It("are written once, however often that is tried", func(ctx SpecContext) {
		first, err := keep(ctx, admin)
		Expect(err).NotTo(HaveOccurred())
		Expect(rawCondition(first)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonKept)))
		second, err := keep(ctx, admin)
		Expect(err).NotTo(HaveOccurred())
		Expect(second.Raw).To(Equal(first.Raw))
		done := run.DeepCopy()
		done.Status = *second
		Expect(rawDocument(ctx, done).Report.Attempt).To(Equal(plan.AttemptID(0)))
	})

	It("leave a ConfigMap alone that belongs to someone else, or that holds something else", func(ctx SpecContext) {
		name := plan.NamesOf(run).RawData
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: name}, Data: map[string]string{"their": "own"}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		status, err := keep(ctx, admin)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Raw).To(BeNil())
		Expect(rawCondition(status)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNameTaken),
			HaveField("Message", ContainSubstring("ConfigMap "+name+" that does not belong to this PerfRun"))))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Data).To(HaveKeyWithValue("their", "own"))

		Expect(admin.Delete(ctx, foreign)).To(Succeed())
		Expect(admin.Create(ctx, plan.RawData(run, rawdata.Key, []byte("something else")))).To(Succeed())
		status, err = keep(ctx, admin)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Raw).To(BeNil())
		Expect(rawCondition(status)).To(HaveField("Message", ContainSubstring("holds something else")))
	})

	It("are given up where a quota forbids them", func(ctx SpecContext) {
		none := corev1.ResourceList{"count/configmaps": resource.MustParse("0")}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
		Expect(admin.Create(ctx, quota)).To(Succeed())
		// There is no controller that would fill in the status.
		quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func() error {
			return admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, GenerateName: "try-"}})
		}).WithContext(ctx).Should(MatchError(ContainSubstring("exceeded quota")))
		status, err := keep(ctx, admin)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Raw).To(BeNil())
		Expect(rawCondition(status)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNotWritten),
			HaveField("Message", ContainSubstring("exceeded quota"))))
	})

	It("are given up where there are too many histograms for a ConfigMap", func(ctx SpecContext) {
		// Incompressible, and no histograms: nothing looks into them here.
		noise := make([]byte, 0, 2<<20)
		for x := uint64(1); len(noise) < cap(noise); x = x*6364136223846793005 + 1442695040888963407 {
			noise = append(noise, ' '+byte(x>>58))
		}
		large := *report
		large.Blocks = []measure.BlockReport{{Block: measure.Block{Connections: 1, Arm: measure.Dapr}, Response: noise}}
		next := run.DeepCopy()
		r := &PerfRunReconciler{Client: admin, Live: admin}
		Expect(r.keepRaw(ctx, stage.Observation{Now: now, Run: run}, &large, &next.Status)).To(Succeed())
		Expect(rawCondition(&next.Status)).To(And(HaveField("Reason", v1alpha1.ReasonTooLarge), HaveField("Message", ContainSubstring("at most 900 KiB"))))
	})

	It("are tried again for half a minute while the API server is busy, and no longer", func(ctx SpecContext) {
		busy := refusing{admin, apierrors.NewServiceUnavailable("busy")}
		status, err := keep(ctx, busy)
		Expect(err).To(MatchError(ContainSubstring("busy")))
		Expect(rawCondition(status)).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonRetrying)))
		run.Status = *status

		now = now.Add(rawPatience / 2)
		_, err = keep(ctx, busy)
		Expect(err).To(HaveOccurred())

		now = now.Add(rawPatience)
		status, err = keep(ctx, busy)
		Expect(err).NotTo(HaveOccurred())
		Expect(rawCondition(status)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNotWritten)))

		status, err = keep(ctx, admin)
		Expect(err).NotTo(HaveOccurred())
		Expect(rawCondition(status).Status).To(Equal(metav1.ConditionTrue))
	})

	It("are no condition for a verdict and results", func(ctx SpecContext) {
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: plan.NamesOf(run).RawData}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(haveFigures(), func() string { return describe(ctx, run) })
		done := reload(ctx, run)
		Expect(done.Status.Results).To(HaveLen(1))
		Expect(done.Status.Raw).To(BeNil())
		Expect(rawCondition(&done.Status)).To(HaveField("Reason", v1alpha1.ReasonNameTaken))
	}, SpecTimeout(2*time.Minute))
})

// expectRawData looks at the raw data of a run as newRun makes it: one pair of blocks of 2 s at 50 requests/s.
func expectRawData(ctx context.Context, run *v1alpha1.PerfRun) {
	GinkgoHelper()
	document := rawDocument(ctx, run)
	Expect(run.Status.Raw.SeriesStep.Duration).To(Equal(time.Second))
	Expect(document.PerfRun).To(Equal(rawdata.Name{Namespace: run.Namespace, Name: run.Name}))
	groups, err := document.Groups(rawdata.Selection{})
	Expect(err).NotTo(HaveOccurred())
	Expect(groups).To(HaveLen(2))
	p50, ok := groups[1].Histograms[rawdata.Response].Quantile(0.5)
	Expect(ok).To(BeTrue())
	Expect(v1alpha1.NewLatency(p50)).To(Equal(*run.Status.Results[0].Dapr.Latency.P50), "status and raw data agree")
	var requests strings.Builder
	Expect(document.WriteRequests(&requests, rawdata.Selection{Arm: measure.Dapr})).To(Succeed())
	replicas := int(run.Status.Settings.LoadTesterReplicas)
	Expect(strings.Count(requests.String(), "\n")).To(Equal(1+2*replicas), "a heading and two seconds of each load tester: %s", requests.String())
}

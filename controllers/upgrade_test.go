package controllers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/measure"
)

// formerStatus is that of a run which an earlier build was measuring on a real cluster. It is never brought up to date: what has been
// added to the status since is not in it.
const formerStatus = "../config/argocd/perfrun.dev/PerfRun/testdata/measuring.yaml"

// otherVersion lets load testers say that they speak the next version of the contract.
type otherVersion struct{ *kubelet }

func (o otherVersion) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := o.kubelet.RoundTrip(r)
	if err != nil || r.URL.Path != measure.PathInfo {
		return answer, err
	}
	defer func() { _ = answer.Body.Close() }()
	var info measure.Info
	if err := json.NewDecoder(answer.Body).Decode(&info); err != nil {
		return nil, err
	}
	info.Version++
	text, err := json.Marshal(info)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, err
}

var _ = Describe("A run that the former build has begun", func() {
	It("is finished by this one, and its load is not sent again", func(ctx SpecContext) {
		run := newRun(ctx)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, k, false)
		loaded(ctx, fresh, run, k, 0)

		text, err := os.ReadFile(formerStatus)
		Expect(err).NotTo(HaveOccurred())
		former := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal(text, former)).To(Succeed())
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(former.GroupVersionKind())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(run), live)).To(Succeed())
		status := former.Object["status"].(map[string]any)
		// The pods, the process and the moment are those of here; which fields there are is the former build's word.
		attempt, here := status["attempt"].(map[string]any), live.Object["status"].(map[string]any)["attempt"].(map[string]any)
		for field := range attempt {
			attempt[field] = here[field]
		}
		live.Object["status"] = status
		Expect(admin.Status().Update(ctx, live)).To(Succeed(), "what the former build has written is no longer taken")

		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(haveFigures(), func() string { return describe(ctx, run) })
		Expect(k.requests.Load()).To(Equal(expected(run)), "every request of the plan, once")
		Expect(k.posted.Load()).To(BeEquivalentTo(1))
		Expect(reload(ctx, run).Status.Results).To(HaveLen(1))
	}, SpecTimeout(2*time.Minute))

	It("is an Error with the way out where its load tester speaks another version of the contract", func(ctx SpecContext) {
		run := newRun(ctx)
		k := newKubelet(run.Namespace, run.Name)
		fresh := newManager(ctx, otherVersion{k}, false)
		Eventually(func() v1alpha1.Phase {
			step(ctx, fresh, run)
			k.sync(ctx)
			return reload(ctx, run).Status.Phase
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(v1alpha1.PhaseError), func() string { return describe(ctx, run) })
		Expect(verdict(reload(ctx, run))).To(And(HaveField("Reason", v1alpha1.ReasonOperatorUpgraded), HaveField("Message", ContainSubstring("create the run again"))))
		Expect(k.posted.Load()).To(BeZero(), "no load")
	}, SpecTimeout(2*time.Minute))
})

package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/rawdata"
)

// TestAFinishedRunIsReadOnce: a page that asks every second whether it has changed costs the API server nothing while it has not.
func TestAFinishedRunIsReadOnce(t *testing.T) {
	reads := 0
	d := New(Options{Raw: func(context.Context, *v1alpha1.PerfRun) (*rawdata.Document, error) {
		reads++
		return nil, context.Canceled
	}})
	run := &v1alpha1.PerfRun{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", ResourceVersion: "1"}, Status: v1alpha1.PerfRunStatus{
		Phase: v1alpha1.PhaseSucceeded, Results: []v1alpha1.PointResult{{Connections: 1, Dapr: &v1alpha1.ArmResult{}}}}}
	d.store.change(runs, func(f *followed) { put(f, run) })
	ask := func(etag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://127.0.0.1/runs/a/b", nil)
		r.AddCookie(&http.Cookie{Name: "perfrun-" + d.key[:8], Value: d.key})
		r.Header.Set("If-None-Match", etag)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		return w
	}
	first := ask("")
	if first.Code != http.StatusOK || reads != 1 {
		t.Fatalf("%d after %d reads: %s", first.Code, reads, first.Body)
	}
	if again := ask(first.Header().Get("ETag")); again.Code != http.StatusNotModified || reads != 1 {
		t.Errorf("%d after %d reads", again.Code, reads)
	}
	later := run.DeepCopy()
	later.ResourceVersion = "2"
	d.store.change(runs, func(f *followed) { put(f, later) })
	if changed := ask(first.Header().Get("ETag")); changed.Code != http.StatusOK || reads != 2 {
		t.Errorf("%d after %d reads", changed.Code, reads)
	}
}

package dapr

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func injectedPod(t *testing.T, file string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(text, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestMTLSPatch(t *testing.T) {
	for file, path := range map[string]string{"injected.yaml": "/spec/containers/1/args", "injected-native.yaml": "/spec/initContainers/0/args"} {
		t.Run(file, func(t *testing.T) {
			pod := injectedPod(t, file)
			before := pod.DeepCopy()
			with := slices.Clone(SidecarSpec(pod).Args)
			at := slices.Index(with, "--enable-mtls")
			if at < 0 {
				t.Fatal("the injected sidecar has no mTLS to begin with")
			}
			without := slices.Delete(slices.Clone(with), at, at+1)

			if p := MTLSPatch(pod, true); p != nil {
				t.Errorf("it has mTLS already: %v", p)
			}
			if diff := cmp.Diff(&ArgsPatch{Path: path, Args: without}, MTLSPatch(pod, false)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod itself was changed: %s", diff)
			}

			SidecarSpec(pod).Args = without
			if p := MTLSPatch(pod, false); p != nil {
				t.Errorf("it has no mTLS already: %v", p)
			}
			if diff := cmp.Diff(&ArgsPatch{Path: path, Args: append(without, "--enable-mtls")}, MTLSPatch(pod, true)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMTLSPatchLeavesAPodWithoutSidecarAlone(t *testing.T) {
	pod := injectedPod(t, "injected.yaml")
	pod.Spec.Containers = slices.DeleteFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == SidecarContainer })
	pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, "--enable-mtls")
	if p := MTLSPatch(pod, false); p != nil {
		t.Errorf("got %v", p)
	}
}

func TestMTLSPatchUnderstandsAFlagWithAValue(t *testing.T) {
	pod := injectedPod(t, "injected.yaml")
	SidecarSpec(pod).Args = []string{"/daprd", "--enable-mtls=true", "--app-port", "1"}
	for on, want := range map[bool]string{true: "/daprd --app-port 1 --enable-mtls", false: "/daprd --app-port 1"} {
		if got := strings.Join(MTLSPatch(pod, on).Args, " "); got != want {
			t.Errorf("%v: got %q, want %q", on, got, want)
		}
	}
}

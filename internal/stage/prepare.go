package stage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"perfrun.dev/perfrun/api/v1alpha1"
	"perfrun.dev/perfrun/internal/dapr"
	"perfrun.dev/perfrun/internal/measure"
	"perfrun.dev/perfrun/internal/plan"
)

// obstacle is what a run waits for, and what to do about it.
type obstacle struct{ reason, message string }

// preparing goes on once nothing is in the way; what is still in the way at the deadline becomes the verdict.
func preparing(o Observation) Decision {
	if end := otherContract(o); end != nil {
		return *end
	}
	if block := missing(o); block != nil {
		d := Decision{Phase: v1alpha1.PhasePreparing, Reason: block.reason, Message: block.message, After: pollPreparing}
		if len(o.Missing) > 0 && block.reason == v1alpha1.ReasonPreparing {
			// Past the deadline too: if that fails, the API server's reason is the verdict's.
			d.Action = Create
			return d
		}
		if started := o.Run.Status.StartTime; started != nil && o.Now.Sub(started.Time) > o.PrepareTimeout {
			return failed(block.reason, fmt.Sprintf("not ready after %s: %s", o.PrepareTimeout, block.message))
		}
		return d
	}
	if o.Settings.ControlPlane != nil {
		return Decision{Action: Read, Phase: v1alpha1.PhaseMeasuring, Reason: v1alpha1.ReasonMeasuring,
			Message: "reading the control plane's counters", After: soon}
	}
	return Decision{Action: Record, Phase: v1alpha1.PhaseMeasuring, Reason: v1alpha1.ReasonMeasuring,
		Message: "starting the load", After: soon}
}

// missing is the first thing in the way, in the order in which things are needed; nil if nothing is.
func missing(o Observation) *obstacle {
	switch {
	case !o.Dapr.CRDs:
		return &obstacle{v1alpha1.ReasonDaprNotInstalled,
			"Dapr is not installed: the API server does not serve configurations.dapr.io; install Dapr on this cluster (dapr init -k, or its Helm chart)"}
	case o.Dapr.Namespace == "":
		return &obstacle{v1alpha1.ReasonInjectorMissing,
			"Dapr's sidecar injector is not registered: there is no MutatingWebhookConfiguration " + dapr.InjectorWebhook + "; reinstall Dapr's Helm chart with the injector enabled"}
	case o.Dapr.Forbidden != "":
		return &obstacle{v1alpha1.ReasonDaprForbidden, "the operator may not look at Dapr's control plane (" + o.Dapr.Forbidden +
			"); give it the Role of config/namespaced/dapr in namespace " + o.Dapr.Namespace}
	case !o.Dapr.InjectorReady():
		return &obstacle{v1alpha1.ReasonInjectorMissing,
			"Dapr's sidecar injector has no ready pod in namespace " + o.Dapr.Namespace + ", so pods would come up without sidecar; see: kubectl -n " + o.Dapr.Namespace + " get pods -l app=" + dapr.InjectorWebhook}
	case len(o.Taken) > 0:
		return &obstacle{v1alpha1.ReasonNameTaken,
			"these names belong to something else: " + strings.Join(o.Taken, ", ") + "; remove them, or give the PerfRun another name"}
	}
	if block := withoutStateStore(o); block != nil {
		return block
	}
	if len(o.Former) > 0 {
		return &obstacle{v1alpha1.ReasonPodsNotGone, fmt.Sprintf(
			"pods of the attempt that was stopped are not gone yet: %s; where a node is lost, delete them with kubectl -n %s delete pod NAME --force",
			strings.Join(o.Former, ", "), o.Run.Namespace)}
	}
	if len(o.Missing) > 0 {
		return &obstacle{v1alpha1.ReasonPreparing, "creating " + strings.Join(o.Missing, ", ")}
	}
	if o.Settings.ControlPlane != nil {
		return nil
	}
	for _, w := range workloads(o) {
		if block := unready(o, w.Workload, w.replicas); block != nil {
			return block
		}
	}
	for i, tester := range o.Testers {
		if tester.Info == nil {
			return &obstacle{v1alpha1.ReasonLoadTesterUnreachable,
				fmt.Sprintf("the load tester's pod %s is ready but does not answer the operator (%v)%s",
					o.LoadTester.Pods[i].Name, tester.Err, unreachableAdvice(o, tester))}
		}
	}
	return nil
}

// unreachableAdvice names the way out. A token is made by the operator's clock and read by the load tester's.
func unreachableAdvice(o Observation, tester Tester) string {
	if errors.Is(tester.Err, measure.ErrUnauthorized) {
		return fmt.Sprintf(", by the operator's it is %s: clocks of nodes that are two minutes apart must be set; if they are not, "+
			"the operator's signing key is another than the one that the pod was made with, and the PerfRun must be created again", o.Now.UTC().Format(time.RFC1123))
	}
	return "; does a NetworkPolicy forbid it?"
}

// wantedWorkload is a workload and how many pods it is to have.
type wantedWorkload struct {
	Workload
	replicas int
}

// workloads in the order in which they come up.
func workloads(o Observation) []wantedWorkload {
	out := []wantedWorkload{{o.Target, o.Settings.Hosts()}, {o.LoadTester, int(o.Settings.LoadTesterReplicas)}}
	if plan.LoadTesterFirst(o.Settings) {
		slices.Reverse(out)
	}
	if o.Settings.Export {
		out = append(out, wantedWorkload{o.Sink, 1})
	}
	return out
}

// unready tells why a workload cannot be used yet; nil if it can.
func unready(o Observation, w Workload, replicas int) *obstacle {
	for _, pod := range w.Pods {
		if block := unreadyPod(o, pod); block != nil {
			return block
		}
	}
	if len(w.Pods) < replicas {
		for _, c := range deploymentConditions(w.Deployment) {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				return &obstacle{v1alpha1.ReasonPodsRefused, "the API server refuses the pod: " + c.Message + securityAdvice(c.Message) + webhookAdvice(c.Message)}
			}
		}
		return &obstacle{v1alpha1.ReasonPreparing, "waiting for the pods to be created"}
	}
	return nil
}

func unreadyPod(o Observation, pod *corev1.Pod) *obstacle {
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return &obstacle{v1alpha1.ReasonUnschedulable, fmt.Sprintf("no node takes pod %s: %s%s", pod.Name, c.Message, placementAdvice(o))}
	}
	if pod.Labels[plan.LabelRole] != plan.RoleSink && dapr.SidecarSpec(pod) == nil {
		return &obstacle{v1alpha1.ReasonSidecarNotInjected,
			fmt.Sprintf("pod %s came up without Dapr's sidecar: the injector did not answer or leaves namespace %s out; see its log: kubectl -n %s logs -l app=%s",
				pod.Name, pod.Namespace, o.Dapr.Namespace, dapr.InjectorWebhook)}
	}
	if block := failingContainer(pod); block != nil {
		block.message += imageAdvice(o, pod, block)
		return block
	}
	if c := podCondition(pod, corev1.PodReady); c == nil || c.Status != corev1.ConditionTrue {
		block := notReady(pod)
		block.message += imageAdvice(o, pod, block)
		return block
	}
	return nil
}

// imageAdvice tells what is expected of a user's application, where it may be the one that does not come up.
func imageAdvice(o Observation, pod *corev1.Pod, block *obstacle) string {
	if !o.Run.Spec.Target.Foreign() || !slices.Contains(o.Target.Pods, pod) {
		return ""
	}
	switch block.reason {
	case v1alpha1.ReasonContainerFailing:
		return "; an image of spec.target must run as a numeric user other than root (spec.target.runAsUser), with a read-only root file system"
	case v1alpha1.ReasonPodsNotReady:
		return fmt.Sprintf("; the image of spec.target must open port %d (spec.target.port) on all addresses", plan.TargetPort(o.Run, o.Settings.Path().Target))
	}
	return ""
}

// notReady is no obstacle worth a name while containers are only starting; a pod that runs but is not ready is.
func notReady(pod *corev1.Pod) *obstacle {
	var waiting []string
	running := true
	for _, s := range containerStatuses(pod) {
		if !s.Ready {
			waiting = append(waiting, s.Name)
		}
		running = running && s.State.Running != nil
	}
	reason := v1alpha1.ReasonPreparing
	if running && len(waiting) > 0 {
		reason = v1alpha1.ReasonPodsNotReady
	}
	return &obstacle{reason, fmt.Sprintf("waiting for pod %s to be ready (containers %s); see: kubectl -n %s logs %s --all-containers",
		pod.Name, strings.Join(waiting, ", "), pod.Namespace, pod.Name)}
}

// securityAdvice names the way out where Pod Security refuses what Dapr's injector adds: by default it does not drop the sidecar's capabilities.
func securityAdvice(message string) string {
	if !strings.Contains(message, "violates PodSecurity") || !strings.Contains(message, dapr.SidecarContainer) {
		return ""
	}
	return "; the container " + dapr.SidecarContainer + " is Dapr's: set dapr_sidecar_injector.sidecarDropALLCapabilities=true in Dapr's Helm chart, or measure in a namespace that does not enforce restricted"
}

// webhookAdvice names the way out where perfrun's own webhook is in the way.
func webhookAdvice(message string) string {
	if !strings.Contains(message, plan.MTLSWebhook) {
		return ""
	}
	return "; this webhook is perfrun's own: the API server must reach port 9443 of the operator's pods, through Service " + plan.MTLSService +
		"; without it (kubectl delete mutatingwebhookconfiguration " + plan.MTLSConfiguration + ") runs measure with the mTLS that the cluster has"
}

func placementAdvice(o Observation) string {
	if o.Settings.Placement != v1alpha1.PlacementDifferentNode {
		return ""
	}
	return "; load tester and target need two schedulable nodes: add one, or set spec.placement to SameNode or Any"
}

// Reasons that the kubelet gives for containers that will hardly come up by waiting.
var (
	imageReasons   = []string{"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ErrImageInspect"}
	failingReasons = []string{"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)

func failingContainer(pod *corev1.Pod) *obstacle {
	for _, s := range containerStatuses(pod) {
		w := s.State.Waiting
		switch {
		case w == nil && !s.Ready && s.LastTerminationState.Terminated != nil:
			// Between two crashes it runs for a while, and is not ready.
			return &obstacle{v1alpha1.ReasonContainerFailing, fmt.Sprintf("container %s of pod %s has been restarted %d time(s)%s; see: kubectl -n %s logs %s -c %s --previous",
				s.Name, pod.Name, s.RestartCount, lastEnd(s), pod.Namespace, pod.Name, s.Name)}
		case w == nil:
		case slices.Contains(imageReasons, w.Reason):
			return &obstacle{v1alpha1.ReasonImagePull, fmt.Sprintf("container %s of pod %s: image %s: %s: %s", s.Name, pod.Name, s.Image, w.Reason, w.Message)}
		case slices.Contains(failingReasons, w.Reason):
			return &obstacle{v1alpha1.ReasonContainerFailing, fmt.Sprintf("container %s of pod %s: %s: %s%s; see: kubectl -n %s logs %s -c %s --previous",
				s.Name, pod.Name, w.Reason, w.Message, lastEnd(s), pod.Namespace, pod.Name, s.Name)}
		}
	}
	return nil
}

func lastEnd(s corev1.ContainerStatus) string {
	t := s.LastTerminationState.Terminated
	if t == nil {
		return ""
	}
	return fmt.Sprintf(" (last ended with %s, exit code %d%s)", t.Reason, t.ExitCode, lastWords(t.Message))
}

// maxWords bounds what a condition quotes of a container's log.
const maxWords = 400

// lastWords are the last lines of the log of a container that failed: the kubelet keeps them as its termination message
// (FallbackToLogsOnError), so that no right to read logs is needed. A sidecar's are not kept: its container is Dapr's.
func lastWords(message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return ""
	}
	if over := len(message) - maxWords; over > 0 {
		message = strings.ToValidUTF8(message[over:], "")
		if _, whole, ok := strings.Cut(message, "\n"); ok {
			message = whole
		}
	}
	return ": " + strings.ReplaceAll(message, "\n", " | ")
}

func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func podCondition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func deploymentConditions(d *appsv1.Deployment) []appsv1.DeploymentCondition {
	if d == nil {
		return nil
	}
	return d.Status.Conditions
}

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// Labels and values on everything that a run creates.
const (
	// LabelRun holds the UID of the PerfRun that an object belongs to.
	LabelRun = "perfrun.dev/run"
	// LabelRole tells the load tester from the target.
	LabelRole = "perfrun.dev/role"
	// LabelMTLS on a pod is true or false: whether perfrun's webhook makes its sidecar use mTLS. It is a label, and not an annotation,
	// because the API server calls the webhook by it, and so for no other pods.
	LabelMTLS = "perfrun.dev/mtls"
	// LabelManagedBy and ManagedBy are how the operator's caches select its own.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "perfrun"
)

// The webhook that switches mTLS for a run's pods; config/webhook has the other half.
const (
	// MTLSConfiguration is the name of its MutatingWebhookConfiguration. The API server calls webhooks in the order of these names, so that
	// this one comes after dapr-sidecar-injector, and sees the sidecar.
	MTLSConfiguration = "perfrun-mtls"
	// MTLSWebhook is its own name, by which the API server speaks of it.
	MTLSWebhook = "mtls.perfrun.dev"
	// MTLSService is the Service in front of the operator's webhook server.
	MTLSService = "perfrun-webhook"
)

// The roles.
const (
	RoleLoadTester = "loadtester"
	RoleTarget     = "target"
	// RoleFleet is the pods of scenario ControlPlane.
	RoleFleet = "fleet"
	RoleSink  = "sink"
	// RoleJoining is the actor host that joins and leaves.
	RoleJoining = "joining"
)

// Names of what a run creates.
type Names struct {
	// LoadTester and Target name the Deployments, and are the Dapr app ids; Target also names the Service.
	LoadTester, Target string
	// Joining names the Deployment of the actor host that joins and leaves; its app id is Target, as that of the others.
	Joining string
	// Fleet names the Deployment of scenario ControlPlane, and is its app id.
	Fleet string
	// Configuration names Dapr's Configuration.
	Configuration string
	// StateStore names the Component that keeps the actors' state where the spec names none, ActorType the type that is the run's own.
	StateStore, ActorType string
	// Sink names the trace sink's Deployment and Service.
	Sink string
	// RawData names the ConfigMap with the whole report.
	RawData string
}

// A Service's name is a DNS label of at most 63 characters, and Dapr makes a Service called APP-ID-dapr: 40 leaves room for both suffixes.
const maxBaseName = 40

var dnsLabel = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// NamesOf derives the names from the run's own: readable where that is short and a DNS label, else made from a hash of its namespace and name.
func NamesOf(run *v1alpha1.PerfRun) Names {
	base := run.Name
	if len(base) > maxBaseName || !dnsLabel.MatchString(base) {
		sum := sha256.Sum256([]byte(run.Namespace + "/" + run.Name))
		base = "perfrun-" + hex.EncodeToString(sum[:])[:12]
	}
	return Names{LoadTester: base + "-loadtester", Target: base + "-target", Joining: base + "-joining", Fleet: base + "-fleet", Configuration: base + "-perfrun",
		StateStore: base + "-actors", ActorType: base + "-actor", Sink: base + "-sink", RawData: base + "-raw"}
}

// Labels on an object of the run; role may be empty.
func Labels(run *v1alpha1.PerfRun, role string) map[string]string {
	l := map[string]string{
		"app.kubernetes.io/name": "perfrun",
		LabelManagedBy:           ManagedBy,
		LabelRun:                 string(run.UID),
	}
	if role != "" {
		l["app.kubernetes.io/component"] = role
		l[LabelRole] = role
	}
	return l
}

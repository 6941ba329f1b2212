package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Defaults of scenario Actors with actors.rebalance.
const (
	// DefaultRebalancedActors are enough for each host to have some.
	DefaultRebalancedActors int32 = 100
	// DefaultRebalancePairs makes blocks of half a minute: a pod with a sidecar takes some seconds to join.
	DefaultRebalancePairs int32 = 2
)

// HostChange is what happens to the actor hosts in a block.
//
// +kubebuilder:validation:Enum=HostAdded;HostRemoved
type HostChange string

// The changes.
const (
	// HostAdded: a host joins.
	HostAdded HostChange = "HostAdded"
	// HostRemoved: the host that has joined leaves.
	HostRemoved HostChange = "HostRemoved"
)

// Rebalance is one change of the actor hosts, and what it did to the calls. What is said of calls is absent until the load is over.
type Rebalance struct {
	// change that was made.
	Change HostChange `json:"change"`
	// pair of the block, from 1.
	Pair int32 `json:"pair"`
	// time at which the operator asked for it, by its own clock: right before it scaled the host's Deployment.
	Time metav1.MicroTime `json:"time"`
	// host is the pod that joined or left; known once it has.
	// +optional
	Host string `json:"host,omitempty"`
	// doneTime is when the operator saw that the pod was ready, or gone.
	// +optional
	DoneTime *metav1.MicroTime `json:"doneTime,omitempty"`
	// calls that were under way at the time of the change or due after it, in the same block.
	// +optional
	Calls int64 `json:"calls,omitempty"`
	// failed are those of them that failed.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// normal is the p99 of the response times of the block's calls before the change.
	// +optional
	Normal *Latency `json:"normal,omitempty"`
	// slowestCall is the longest that one of the calls took, failed ones too, from the moment at which it was due.
	// +optional
	SlowestCall *Latency `json:"slowestCall,omitempty"`
	// longestStall is the longest time without any good answer.
	// +optional
	LongestStall *Latency `json:"longestStall,omitempty"`
	// disturbed is the sum of the quarters of a second, from the change on, in which a call that was due failed, or more than 10% of them took
	// longer than twice normal.
	// +optional
	Disturbed *Latency `json:"disturbed,omitempty"`
	// recovery is the time from the change to the end of the last of those; 0s if there was none. Absent if that is the block's end: it was not
	// back to normal.
	// +optional
	Recovery *Latency `json:"recovery,omitempty"`
	// note says what kept the host from joining, or why figures are missing.
	// +optional
	Note string `json:"note,omitempty"`
}

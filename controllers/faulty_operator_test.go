package controllers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// fault is what goes wrong, once.
type fault struct {
	kind faultKind
	// call is the call that it strikes, at its nth occurrence from 1; empty: none.
	call string
	nth  int
}

func (f fault) String() string { return fmt.Sprintf("%s call %d of %q", f.kind.name, f.nth, f.call) }

// faultKind is a way in which a call goes wrong.
type faultKind struct {
	name string
	// strikes tells which calls it can strike.
	strikes func(call string) bool
	// answer to the call; do makes it.
	answer func(do func() (*http.Response, error)) (*http.Response, error)
	// deadly: the process ends there, and none of its later calls is made.
	deadly bool
	// delay of every call.
	delay time.Duration
}

// of limits a kind of fault to some calls.
func (k faultKind) of(calls func(string) bool) faultKind {
	former := k.strikes
	k.strikes = func(call string) bool { return former(call) && calls(call) }
	return k
}

var (
	errLost   = errors.New("the answer was lost")
	errKilled = errors.New("the operator was killed")
)

var (
	// failing calls are not performed.
	failing = faultKind{name: "failing", strikes: anyCall, answer: func(func() (*http.Response, error)) (*http.Response, error) {
		return refusalOf(http.StatusInternalServerError, "InternalError", "something broke"), nil
	}}
	// unanswered calls are performed, and the answer is lost.
	unanswered = faultKind{name: "unanswered", strikes: isWrite, answer: func(do func() (*http.Response, error)) (*http.Response, error) {
		res, err := do()
		if err == nil {
			err = errLost
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		return nil, err
	}}
	// conflicting writes are refused: somebody else has written.
	conflicting = faultKind{name: "conflicting", strikes: func(call string) bool { return strings.Contains(call, ": PUT ") },
		answer: func(func() (*http.Response, error)) (*http.Response, error) {
			return refusalOf(http.StatusConflict, "Conflict", "the object has been modified"), nil
		}}
	// killed: the operator ends before the call, and another one starts.
	killed = faultKind{name: "killed", strikes: anyCall, deadly: true, answer: func(func() (*http.Response, error)) (*http.Response, error) { return nil, errKilled }}
)

// slow: no call goes wrong, and every one takes its time.
var slow = faultKind{name: "slow", strikes: func(string) bool { return false }, delay: 200 * time.Millisecond}

func anyCall(string) bool { return true }

func isWrite(call string) bool { return !strings.Contains(call, ": GET ") }

// refusalOf is an answer that the API server and a load tester could give.
func refusalOf(code int, reason, message string) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","message":"` + message + `","error":"` + message + `"}`
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// faultyOperator is the operator processes of one run, one after the other.
type faultyOperator struct {
	reconciler *PerfRunReconciler
	fault      fault

	mu sync.Mutex
	// phase of the run when the reconciliation began.
	phase v1alpha1.Phase
	// calls that were made, in the order of their first occurrence, and how often.
	calls []string
	made  map[string]int
	// struck: the fault has met its call.
	struck, dead bool
}

// begin a reconciliation, by another process if there is none.
func (o *faultyOperator) begin(phase v1alpha1.Phase) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead {
		o.reconciler.started = ""
	}
	o.phase, o.dead = cmp.Or(phase, v1alpha1.PhaseQueued), false
	if phase.Finished() {
		// Which verdict it is depends on the machine.
		o.phase = "Finished"
	}
}

func (o *faultyOperator) call(name string, do func() (*http.Response, error)) (*http.Response, error) {
	time.Sleep(o.fault.kind.delay)
	if o.strikes(name) {
		return o.fault.kind.answer(do)
	}
	o.mu.Lock()
	dead := o.dead
	o.mu.Unlock()
	if dead {
		return nil, errKilled
	}
	return do()
}

// strikes counts a call and tells whether it is the one that goes wrong.
func (o *faultyOperator) strikes(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead {
		return false
	}
	name = fmt.Sprintf("%s: %s", o.phase, name)
	if o.made[name]++; o.made[name] == 1 {
		o.calls = append(o.calls, name)
	}
	if o.fault.call != name || o.fault.nth != o.made[name] {
		return false
	}
	o.struck, o.dead = true, o.fault.kind.deadly
	return true
}

// faults of a kind: one for each call in each phase of the run, and for a write one for each of the first times that it was made. A call that
// only looks is repeated as often as there is nothing new.
func (o *faultyOperator) faults(kind faultKind) (out []fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, call := range o.calls {
		for i := range min(o.made[call], 3) {
			if kind.strikes(call) && (i == 0 || isWrite(call)) {
				out = append(out, fault{kind, call, i + 1})
			}
		}
	}
	return out
}

// through is the way of an operator's calls to the API server, or to the load testers.
type through struct {
	o    *faultyOperator
	next http.RoundTripper
}

func (t through) RoundTrip(req *http.Request) (*http.Response, error) {
	name, err := nameOf(req)
	if err != nil {
		return nil, err
	}
	return t.o.call(name, func() (*http.Response, error) { return t.next.RoundTrip(req) })
}

// nameOf a call is the same in every run: without the namespace, which is drawn afresh, but with what a status says.
func nameOf(req *http.Request) (string, error) {
	path := req.URL.Path
	if _, rest, namespaced := strings.Cut(path, "/namespaces/fault-"); namespaced {
		_, path, _ = strings.Cut(rest, "/")
	}
	name := req.Method + " " + path
	if req.Method != http.MethodPut {
		return name, nil
	}
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return "", err
	}
	req.Body = io.NopCloser(bytes.NewReader(text))
	var run v1alpha1.PerfRun
	if err := json.Unmarshal(text, &run); err != nil || run.Status.Phase.Finished() {
		return name + " verdict", err
	}
	return name + " " + verdict(&run).Reason, nil
}

func metaLen(list client.ObjectList) int { return meta.LenList(list) }

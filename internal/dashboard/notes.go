package dashboard

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// notes are sentences about what is not shown, or may be out of date. One problem is told of at a time: they mostly have one cause.
func (d *Dashboard) notes() []string {
	for _, k := range []kind{runs, schedules, series} {
		if f := d.store.state(k); f.problem != nil {
			return []string{explain(k, f)}
		}
	}
	if f := d.store.state(runs); f.narrowed {
		return []string{fmt.Sprintf("You may not list PerfRuns in all namespaces. These are those of namespace %s; start with -n NAMESPACE for another.", f.namespace)}
	}
	return nil
}

// explain why the objects of a kind may be out of date.
func explain(k kind, f followed) string {
	where := "in namespace " + f.namespace
	if f.namespace == "" {
		where = "in all namespaces"
	}
	switch {
	case meta.IsNoMatchError(f.problem), apierrors.IsNotFound(f.problem):
		if k == runs {
			return "This cluster knows no PerfRuns: install perfrun first (make deploy, or its Helm chart)."
		}
		return fmt.Sprintf("This cluster knows no %s: its perfrun is older than this dashboard.", k)
	case apierrors.IsForbidden(f.problem):
		return fmt.Sprintf("You may not list and watch %s %s. Kubernetes' role view is enough; start with -n NAMESPACE for a namespace in which you have it.", k, where)
	case apierrors.IsUnauthorized(f.problem):
		return "The API server does not know you any more: log in again, and this page goes on."
	default:
		return fmt.Sprintf("The API server has not answered since %s; what is shown is from then. It is asked again every second. (%v)",
			f.since.Format("15:04:05"), errors.Unwrap(f.problem))
	}
}

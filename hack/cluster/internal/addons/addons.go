// Package addons holds what is installed in a cluster once it runs.
package addons

import (
	"bytes"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"perfrun.dev/perfrun/hack/cluster/internal/plan"
)

// Registry is the name all images built here have in common. No such registry
// exists, so that nothing could be pulled by mistake.
const Registry = "localcluster.perfrun.dev"

//go:embed manifests
var manifests embed.FS

// Params is what the templates know.
type Params struct {
	DaprVersion string
	// DaprHA asks for three replicas of each part of Dapr's control plane.
	DaprHA bool
	// Tainted tells that the control plane's node keeps ordinary pods away.
	Tainted bool
	// Root, IssuerCert and IssuerKey are the PEM that Dapr's sentry signs with.
	Root, IssuerCert, IssuerKey string
}

// Image is the reference of one of the images built here.
func Image(name, version string) string {
	return fmt.Sprintf("%s/%s:%s", Registry, name, version)
}

// Pause is the image that every pod's sandbox is made from.
func Pause() string { return Image("pause", "1") }

// DaprImage is the reference the chart makes of Registry and version.
func DaprImage(version, program string) string { return Image("dapr/"+program, version) }

var versions = map[string]string{"coredns": plan.CoreDNS, "metrics-server": plan.MetricsServer}

// SchedulerVolumes is used by the templates: a name for each volume that Dapr's
// scheduler needs.
func (p Params) SchedulerVolumes() []string {
	var names []string
	for i := range plan.DaprReleases[p.DaprVersion].SchedulerVolumes {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

// Image is used by the templates.
func (Params) Image(name string) string { return Image(name, versions[name]) }

// Registry is used by the templates.
func (Params) Registry() string { return Registry }

// Domain is used by the templates.
func (Params) Domain() string { return plan.Domain }

// DNSServiceIP is used by the templates.
func (Params) DNSServiceIP() string { return plan.DNSServiceIP }

// ControlPlanePlacement binds a pod to the control plane's node, so that the
// others are left to what is measured.
func (p Params) ControlPlanePlacement() string {
	text := fmt.Sprintf("nodeSelector:\n  %s: \"\"\n", plan.ControlPlaneLabel)
	if p.Tainted {
		text += fmt.Sprintf("tolerations:\n- key: %s\n  effect: NoSchedule\n", plan.ControlPlaneLabel)
	}
	return text
}

// Render fills in the template of that name.
func Render(name string, p Params) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"indent": indent}).ParseFS(manifests, "manifests/"+name)
	if err != nil {
		return nil, fmt.Errorf("reading manifest: %w", err)
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, name, p); err != nil {
		return nil, fmt.Errorf("rendering manifest: %w", err)
	}
	return out.Bytes(), nil
}

func indent(n int, text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	pad := strings.Repeat(" ", n)
	return pad + strings.Join(lines, "\n"+pad)
}

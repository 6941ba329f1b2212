package export

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// The messages of the Service Mesh Performance specification that a run fills, in protobuf's JSON with the specification's own names of fields.
// Whole numbers of 64 bits are strings there. What a run does not know is left out.
type (
	smpDocument struct {
		Configs      []smpConfig      `json:"performance_test_configs"`
		Results      []smpResult      `json:"performance_test_results"`
		Meshes       []smpMesh        `json:"service_mesh_configs"`
		Environments []smpEnvironment `json:"environment_configs"`
	}
	// smpConfig is a PerformanceTestConfig.
	smpConfig struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Labels   map[string]string `json:"labels"`
		Clients  []smpClient       `json:"clients"`
		Duration string            `json:"duration"`
	}
	smpClient struct {
		Internal      bool   `json:"internal"`
		LoadGenerator string `json:"load_generator"`
		Protocol      string `json:"protocol"`
		Connections   int32  `json:"connections"`
		RPS           string `json:"rps"`
	}
	// smpResult is a PerformanceTestResult.
	smpResult struct {
		ID           string            `json:"id"`
		Labels       map[string]string `json:"labels"`
		StartTime    string            `json:"start_time,omitempty"`
		EndTime      string            `json:"end_time,omitempty"`
		Latencies    *smpLatency       `json:"latencies_ms,omitempty"`
		ActualQPS    float64           `json:"actual_QPS"`
		TestID       string            `json:"testId"`
		MeshConfigID string            `json:"meshConfigId,omitempty"`
		EnvID        string            `json:"envId"`
	}
	smpLatency struct {
		Average float64 `json:"average"`
		P50     float64 `json:"p50,omitempty"`
		P90     float64 `json:"p90,omitempty"`
		P99     float64 `json:"p99,omitempty"`
		Max     float64 `json:"max"`
	}
	// smpMesh is a ServiceMeshConfig. Dapr is none of the specification's types of mesh, so mesh_type is left out.
	smpMesh struct {
		ID           string            `json:"id"`
		Labels       map[string]string `json:"labels"`
		Sidecar      *smpPart          `json:"sidecar,omitempty"`
		ControlPlane *smpPart          `json:"mesh_control_plane,omitempty"`
		MTLS         bool              `json:"mtls_enabled"`
		MeshBuild    string            `json:"mesh_build,omitempty"`
		ProxyBuild   string            `json:"proxy_build,omitempty"`
	}
	smpPart struct {
		Name      string `json:"name,omitempty"`
		Count     int    `json:"count"`
		CPUMilli  int64  `json:"cpu_mCores"`
		MemoryMB  int64  `json:"mem_mb"`
		RequestsS int32  `json:"rps,omitempty"`
	}
	// smpEnvironment is an EnvironmentConfig.
	smpEnvironment struct {
		ID         string            `json:"id"`
		Labels     map[string]string `json:"labels"`
		Kubernetes string            `json:"kubernetes_version,omitempty"`
		Workloads  []smpPart         `json:"individual_workloads,omitempty"`
	}
)

// ServiceMeshPerformance writes a run as messages of the Service Mesh Performance specification: a test for each point, a result for each
// arm of it, and what mesh and environment they were measured in.
func ServiceMeshPerformance(w io.Writer, run *v1alpha1.PerfRun) error {
	s := run.Status.Settings
	if s == nil || len(run.Status.Results) == 0 {
		return fmt.Errorf("PerfRun %s/%s has no latencies to export; its phase is %s", run.Namespace, run.Name, run.Status.Phase)
	}
	id := string(run.UID)
	d := smpDocument{Meshes: []smpMesh{meshOf(run)}, Environments: []smpEnvironment{environmentOf(run)}}
	for _, point := range run.Status.Results {
		test := fmt.Sprintf("%s/%d", id, point.Connections)
		labels := map[string]string{"scenario": string(run.Spec.Scenario), "connections": strconv.Itoa(int(point.Connections))}
		d.Configs = append(d.Configs, smpConfig{ID: test, Name: run.Name, Labels: labels, Duration: s.Duration.Duration.String(),
			Clients: []smpClient{{Internal: true, LoadGenerator: "perfrun (Fortio)", Protocol: protocol(s), Connections: point.Connections, RPS: strconv.Itoa(int(s.RPS))}}})
		for _, arm := range []struct {
			name   v1alpha1.Arm
			result *v1alpha1.ArmResult
		}{{v1alpha1.ArmBaseline, point.Baseline}, {v1alpha1.ArmDapr, point.Dapr}} {
			if arm.result != nil {
				result, err := resultOf(run, arm.result)
				if err != nil {
					return err
				}
				result.ID, result.TestID, result.EnvID = test+"/"+string(arm.name), test, id
				result.Labels = map[string]string{"arm": string(arm.name), "verdict": string(run.Status.Phase)}
				if arm.name == v1alpha1.ArmDapr {
					result.MeshConfigID = id
				}
				d.Results = append(d.Results, result)
			}
		}
	}
	return writeJSON(w, d)
}

func protocol(s *v1alpha1.Settings) string {
	if s.Invocation != nil && s.Invocation.Caller == v1alpha1.ProtocolGRPC {
		return "grpc"
	}
	return "http"
}

func resultOf(run *v1alpha1.PerfRun, arm *v1alpha1.ArmResult) (smpResult, error) {
	qps, err := strconv.ParseFloat(arm.AchievedRPS, 64)
	if err != nil {
		return smpResult{}, fmt.Errorf("reading the rate of PerfRun %s/%s: %w", run.Namespace, run.Name, err)
	}
	out := smpResult{ActualQPS: qps}
	if a := run.Status.Attempt; a != nil {
		out.StartTime = a.StartTime.UTC().Format(time.RFC3339)
		if a.EndTime != nil {
			out.EndTime = a.EndTime.UTC().Format(time.RFC3339)
		}
	}
	if l := arm.Latency; l != nil {
		out.Latencies = &smpLatency{Average: milliseconds(&l.Mean), P50: milliseconds(l.P50), P90: milliseconds(l.P90), P99: milliseconds(l.P99), Max: milliseconds(&l.Max)}
	}
	return out, nil
}

func milliseconds(l *v1alpha1.Latency) float64 {
	if l == nil {
		return 0
	}
	return round(l.Seconds() * 1e3)
}

func meshOf(run *v1alpha1.PerfRun) smpMesh {
	out := smpMesh{ID: string(run.UID), Labels: map[string]string{"mesh": "dapr", "sampling": run.Status.Settings.Sampling}, MTLS: run.Status.Settings.MTLS,
		Sidecar: part("", run, v1alpha1.ComponentCallerSidecar, v1alpha1.ComponentTargetSidecar)}
	if out.Sidecar != nil {
		out.Sidecar.RequestsS = run.Status.Settings.RPS
	}
	if e := run.Status.Environment; e != nil {
		out.MeshBuild = e.Dapr
		if e.Images != nil {
			out.ProxyBuild = e.Images.Sidecar
		}
		if e.MTLS != nil {
			out.MTLS = *e.MTLS
		}
	}
	if t := run.Status.ControlPlane; t != nil {
		out.ControlPlane = &smpPart{Count: int(t.Pods), CPUMilli: t.CPU.MilliValue(), MemoryMB: megabytes(t.Memory)}
	}
	return out
}

func environmentOf(run *v1alpha1.PerfRun) smpEnvironment {
	out := smpEnvironment{ID: string(run.UID), Labels: map[string]string{}}
	if e := run.Status.Environment; e != nil {
		out.Kubernetes = e.Kubernetes
		if e.Nodes != nil {
			out.Labels = map[string]string{"node.loadTester": e.Nodes.LoadTester, "node.target": e.Nodes.Target}
		}
	}
	for _, c := range []v1alpha1.Component{v1alpha1.ComponentLoadTester, v1alpha1.ComponentApp} {
		if p := part(string(c), run, c); p != nil {
			out.Workloads = append(out.Workloads, *p)
		}
	}
	return out
}

// part adds up what components used during the Dapr arm; nil where one of their pods could not be read.
func part(name string, run *v1alpha1.PerfRun, components ...v1alpha1.Component) *smpPart {
	var cpu, memory resource.Quantity
	out := &smpPart{Name: name}
	for _, u := range run.Status.Usage {
		for _, c := range components {
			if u.Component != c || u.Arm != v1alpha1.ArmDapr {
				continue
			}
			if u.CPU == nil || u.Memory == nil {
				return nil
			}
			out.Count++
			cpu.Add(*u.CPU)
			memory.Add(u.Memory.Mean)
		}
	}
	if out.Count == 0 {
		return nil
	}
	out.CPUMilli, out.MemoryMB = cpu.MilliValue(), megabytes(memory)
	return out
}

func megabytes(q resource.Quantity) int64 { return (q.Value() + 500_000) / 1_000_000 }

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// clockTicks is the kernel's USER_HZ, the unit of CPU time in /proc/PID/stat.
const clockTicks = 100

// manager is the operator as a process, with the arguments and the environment of config/manager.
type manager struct {
	cmd *exec.Cmd
	log string
}

func (b *bench) startManager(ctx context.Context, s *server) (*manager, error) {
	webhook, err := freePort()
	if err != nil {
		return nil, err
	}
	health, err := freePort()
	if err != nil {
		return nil, err
	}
	m := &manager{log: filepath.Join(s.dir, "manager.log")}
	log, err := os.Create(m.log)
	if err != nil {
		return nil, fmt.Errorf("making the operator's log: %w", err)
	}
	defer log.Close()
	m.cmd = exec.CommandContext(ctx, b.perfrun, "manager", "--leader-elect", "--metrics-bind-address=127.0.0.1:0",
		"--health-probe-bind-address=127.0.0.1:"+health, "--webhook-port="+webhook,
		"--namespace="+managerNamespace, "--image=perfrun:scale",
		// The pods never come here, and the run that waits for them shall go on waiting.
		"--prepare-timeout=24h")
	m.cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "GOMEMLIMIT=112MiB")
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		response, err := http.Get("http://127.0.0.1:" + health + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			m.stop()
			return nil, fmt.Errorf("the operator is not ready (%w)\n%s", err, m.lastWords())
		}
	}
	return m, nil
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

func (m *manager) stop() {
	if m.cmd.ProcessState != nil {
		return
	}
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	_ = m.cmd.Wait()
}

func (m *manager) lastWords() string {
	text, _ := os.ReadFile(m.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}

// taken is what a process has taken so far.
type taken struct {
	cpu            time.Duration
	resident, most uint64
}

func (m *manager) taken() (taken, error) {
	process, err := procfs.NewProc(m.cmd.Process.Pid)
	if err != nil {
		return taken{}, fmt.Errorf("reading the operator's process: %w", err)
	}
	stat, err := process.Stat()
	if err != nil {
		return taken{}, fmt.Errorf("reading the operator's process: %w", err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return taken{}, fmt.Errorf("reading the operator's process: %w", err)
	}
	return taken{
		cpu:      time.Duration(stat.UTime+stat.STime) * time.Second / clockTicks,
		resident: status.VmRSS, most: status.VmHWM,
	}, nil
}

// forgetMost begins the maximum of the resident memory anew: proc_pid_clear_refs(5), value 5.
func (m *manager) forgetMost() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.cmd.Process.Pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("resetting the operator's maximum of memory: %w", err)
	}
	return nil
}

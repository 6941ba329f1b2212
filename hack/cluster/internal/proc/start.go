package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/cgroup"
)

// ExecCommand is the hidden command of this program that becomes the process
// to start: in between fork and exec it must join control groups and write its
// own record, so that a crash of the parent at any moment leaves no process
// that nobody knows of.
const ExecCommand = "_exec"

// maxLog is the size from which a log is rotated when its process starts.
const maxLog = 10 << 20

// Spec is a process to start.
type Spec struct {
	// Name is also that of its log file.
	Name string
	Path string
	Args []string
	Env  []string
	// Cgroup is relative to the root of every hierarchy.
	Cgroup string
	// Net and Mount are files of namespaces to run in; empty means the
	// machine's own.
	Net, Mount string
	Log        string
	Record     string
	// Inputs are files the process reads once, at its start.
	Inputs []string
}

// Fingerprint covers the command line, the program, the inputs' content and
// the namespaces.
func (s Spec) Fingerprint() (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(s); err != nil {
		return "", fmt.Errorf("describing %s: %w", s.Name, err)
	}
	for _, f := range []string{s.Path, s.Net, s.Mount} {
		if f == "" {
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(f, &st); err != nil {
			return "", fmt.Errorf("describing %s: %s: %w", s.Name, f, err)
		}
		// A program is replaced by renaming, which changes its inode; a
		// namespace is its inode.
		fmt.Fprintf(h, "%s %d %d %d\n", f, st.Dev, st.Ino, st.Size)
	}
	for _, f := range s.Inputs {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", fmt.Errorf("describing %s: %w", s.Name, err)
		}
		fmt.Fprintf(h, "%s %x\n", f, sha256.Sum256(data))
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// Ensure starts the process unless it runs already and would be the same. It
// returns whether it was started.
func Ensure(s Spec) (bool, error) {
	print, err := s.Fingerprint()
	if err != nil {
		return false, err
	}
	old := Load(s.Record)
	if old.Alive() {
		if old.Fingerprint == print {
			return false, nil
		}
		if err := Stop(s.Record, 10*time.Second); err != nil {
			return false, err
		}
	}
	return true, start(s, print)
}

// message is what start hands to the hidden command.
type message struct {
	Spec
	Fingerprint string
}

func start(s Spec, print string) error {
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o755); err != nil {
		return fmt.Errorf("making log folder: %w", err)
	}
	if st, err := os.Stat(s.Log); err == nil && st.Size() > maxLog {
		if err := os.Rename(s.Log, s.Log+".1"); err != nil {
			return fmt.Errorf("rotating log: %w", err)
		}
	}
	// Appending is what lets the keeper cut a log short under its writer.
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own
	spec, err := json.Marshal(message{s, print})
	if err != nil {
		return fmt.Errorf("describing %s: %w", s.Name, err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, ExecCommand, string(spec))
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.Name, err)
	}
	// Reaped as soon as it ends, so that it is not taken for alive.
	go func() { _ = cmd.Wait() }()
	return awaitRecord(s, cmd.Process.Pid)
}

// awaitRecord waits for the child to have written its record, which it does
// within milliseconds.
func awaitRecord(s Spec, pid int) error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if Load(s.Record).PID == pid {
			return nil
		}
		if _, err := Identify(pid); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if Load(s.Record).PID == pid {
		return nil
	}
	return fmt.Errorf("starting %s: it ended at once\n%s", s.Name, Tail(s.Log, 5))
}

// Exec is the child's side: it becomes the process and does not return unless
// that fails.
func Exec(spec string) error {
	var m message
	if err := json.Unmarshal([]byte(spec), &m); err != nil {
		return fmt.Errorf("reading what to start: %w", err)
	}
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	if err := host.Join(m.Cgroup); err != nil {
		return err
	}
	id, err := Identify(os.Getpid())
	if err != nil {
		return err
	}
	if err := (Record{Identity: id, Fingerprint: m.Fingerprint}).Save(m.Record); err != nil {
		return err
	}
	argv := append([]string{m.Path}, m.Args...)
	if m.Net != "" {
		nsenter, err := exec.LookPath("nsenter")
		if err != nil {
			return fmt.Errorf("entering namespaces: %w", err)
		}
		argv = append([]string{nsenter, "--net=" + m.Net, "--mount=" + m.Mount, "--"}, argv...)
	}
	env := append([]string{"HOME=/"}, m.Env...)
	return fmt.Errorf("executing %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
}

// Stop ends the recorded process, by force after patience, and forgets it.
func Stop(record string, patience time.Duration) error {
	r := Load(record)
	if r.Alive() {
		if err := signal(r.PID, unix.SIGTERM); err != nil {
			return err
		}
		for deadline := time.Now().Add(patience); r.Alive() && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if r.Alive() {
		if err := signal(r.PID, unix.SIGKILL); err != nil {
			return err
		}
		for deadline := time.Now().Add(5 * time.Second); r.Alive(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d does not end, even by force; it may hang in the kernel", r.PID)
			}
		}
	}
	return Forget(record)
}

// Pause stops the recorded process where it is, or lets it go on.
func Pause(record string, pause bool) error {
	r := Load(record)
	if !r.Alive() {
		return fmt.Errorf("process %d does not run", r.PID)
	}
	if pause {
		return signal(r.PID, unix.SIGSTOP)
	}
	return signal(r.PID, unix.SIGCONT)
}

func signal(pid int, sig unix.Signal) error {
	if err := unix.Kill(pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signalling process %d: %w", pid, err)
	}
	return nil
}

// Tail returns the last lines of a log, indented, for an error message.
func Tail(log string, lines int) string {
	data, err := os.ReadFile(log)
	if errors.Is(err, fs.ErrNotExist) {
		return "  (it has no log at " + log + ")"
	}
	if err != nil {
		return "  (its log cannot be read: " + err.Error() + ")"
	}
	all := strings.Split(string(bytes.TrimSpace(data)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "  " + strings.Join(all, "\n  ") + "\n  (from " + log + ")"
}

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	tail := " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 123 456\n"
	tests := []struct {
		name, stat string
		start      uint64
		state      byte
		wantErr    bool
	}{
		{"ordinary", "42 (etcd)" + tail, 4711, 'S', false},
		{"brackets and spaces in the name", "42 (a) R (b c)" + tail, 4711, 'S', false},
		{"no name", "42", 0, 0, true},
		{"cut short", "42 (etcd) S 1 1", 0, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start, state, err := parseStat([]byte(tt.stat))
			if (err != nil) != tt.wantErr || start != tt.start || state != tt.state {
				t.Errorf("got %d %c %v", start, state, err)
			}
		})
	}
}

func TestAliveIsThisVeryProcess(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("this process is not alive")
	}
	recycled := id
	recycled.StartTime++
	rebooted := id
	rebooted.BootID = "another"
	for _, other := range []Identity{recycled, rebooted, {}} {
		if other.Alive() {
			t.Errorf("%+v is taken for alive", other)
		}
	}
}

// A process given an old number must survive Stop.
func TestStopSparesStrangers(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "record.json")
	old := Record{Identity: id}
	old.StartTime--
	if err := old.Save(file); err != nil {
		t.Fatal(err)
	}
	if err := Stop(file, time.Second); err != nil || !id.Alive() {
		t.Fatalf("%v; alive: %v", err, id.Alive())
	}
	if err := (Record{Identity: id}).Save(file); err != nil {
		t.Fatal(err)
	}
	if err := Stop(file, time.Second); err != nil || id.Alive() {
		t.Fatalf("%v; alive: %v", err, id.Alive())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the record is still there")
	}
}

func TestLoadDamaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.json")
	if Load(file).Alive() {
		t.Error("a missing record is alive")
	}
	if err := os.WriteFile(file, []byte(`{"pid": 1`), 0o600); err != nil {
		t.Fatal(err)
	}
	if Load(file).Alive() {
		t.Error("a damaged record is alive")
	}
}

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := Spec{Name: "x", Path: "/bin/sh", Args: []string{"-c"}, Inputs: []string{file}}
	print := func(s Spec) string {
		t.Helper()
		p, err := s.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := print(base)
	if again := print(base); again != first {
		t.Error("it differs without a reason")
	}
	args := base
	args.Args = []string{"-x"}
	if print(args) == first {
		t.Error("other arguments make no difference")
	}
	if err := os.WriteFile(file, []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if print(base) == first {
		t.Error("another configuration makes no difference")
	}
	gone := base
	gone.Inputs = []string{file + ".missing"}
	if _, err := gone.Fingerprint(); err == nil {
		t.Error("a missing input is no error")
	}
}

func TestListens(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue
   0: 0100007F:094B 00000000:0000 0A 00000000:00000000
   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000
`
	for port, want := range map[int]bool{2379: true, 8080: false, 4: false} {
		if got := listens(table, port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("1\n2\n3\n4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := Tail(file, 2), "  3\n  4\n  (from "+file+")"; got != want {
		t.Errorf("got %q", got)
	}
	if got := Tail(file+".none", 2); !strings.Contains(got, "no log") {
		t.Errorf("got %q", got)
	}
}

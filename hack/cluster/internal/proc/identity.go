// Package proc starts processes that outlive the command, remembers them, and
// ends them without ever hitting a stranger that was given an old number.
package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"perfrun.dev/perfrun/hack/cluster/internal/files"
)

// Identity names one process for good: the kernel hands a number out again,
// but not with the same start time, and not in the same boot.
type Identity struct {
	PID int `json:"pid"`
	// StartTime is in clock ticks since boot, field 22 of /proc/PID/stat.
	StartTime uint64 `json:"startTime"`
	BootID    string `json:"bootID"`
}

// Record is what is kept of a process that was started.
type Record struct {
	Identity
	// Fingerprint covers all that would make the process different if it were
	// started now; another fingerprint means it must be started again.
	Fingerprint string `json:"fingerprint"`
}

// Identify looks pid up.
func Identify(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, fmt.Errorf("looking up process: %w", err)
	}
	start, state, err := parseStat(stat)
	if err != nil {
		return Identity{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return Identity{}, fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("reading boot id: %w", err)
	}
	return Identity{PID: pid, StartTime: start, BootID: strings.TrimSpace(string(boot))}, nil
}

// parseStat returns start time and state. The second field is the name in
// brackets and may itself hold brackets and spaces, so fields are counted from
// the last closing one.
func parseStat(stat []byte) (start uint64, state byte, err error) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, 0, errors.New("no name in its stat file")
	}
	fields := strings.Fields(string(stat[i+1:]))
	const startField = 22 - 3 // the first of fields is number 3, the state
	if len(fields) <= startField {
		return 0, 0, errors.New("its stat file is too short")
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	return start, fields[0][0], err
}

// Alive tells whether this very process still runs.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// Load reads a record; one that is missing or damaged counts as no process.
func Load(file string) Record {
	var r Record
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return Record{}
	}
	return r
}

// Save writes a record.
func (r Record) Save(file string) error { return files.WriteJSON(file, r, 0o600) }

// Forget removes a record.
func Forget(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting process: %w", err)
	}
	return nil
}

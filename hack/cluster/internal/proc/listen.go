package proc

import (
	"fmt"
	"os"
	"strings"
)

// Listens returns "" once something in the process's network namespace accepts
// TCP connections on the port, and what is missing until then.
func (id Identity) Listens(port int) (missing string, err error) {
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", id.PID, table))
		if os.IsNotExist(err) {
			continue // a kernel without IPv6, or a process that has ended
		}
		if err != nil {
			return "", fmt.Errorf("reading sockets: %w", err)
		}
		if listens(string(data), port) {
			return "", nil
		}
	}
	return fmt.Sprintf("nothing listens on port %d yet", port), nil
}

// listens reads the kernel's table of sockets, in which the second column is
// the local address and port in hexadecimal and the fourth the state, 0A for a
// listening one.
func listens(table string, port int) bool {
	for line := range strings.SplitSeq(table, "\n") {
		f := strings.Fields(line)
		if len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
			return true
		}
	}
	return false
}

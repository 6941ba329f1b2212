package cluster

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const overlayfs = "overlayfs"

// snapshotter is how containers' files are layered. An overlay cannot lie on
// an overlay, which is what a folder inside another container usually is.
func snapshotter(dir string) string {
	for _, err := os.Stat(dir); err != nil && dir != "/"; _, err = os.Stat(dir) {
		dir = filepath.Dir(dir) // not made yet
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return overlayfs
}

// canLowerOOMScore tells whether CAP_SYS_RESOURCE is among the capabilities
// this process has and passes on.
func canLowerOOMScore() bool {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	return effective(string(status))&(1<<unix.CAP_SYS_RESOURCE) != 0
}

func effective(status string) uint64 {
	for line := range strings.SplitSeq(status, "\n") {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err == nil {
				return caps
			}
		}
	}
	return 0
}

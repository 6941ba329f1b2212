package mounts

import (
	"reflect"
	"strings"
	"testing"
)

const table = `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
40 27 254:0 /a\040b /a\040b/ns rw - ext4 /dev/vda rw
41 40 0:4 net:[4026532001] /a\040b/ns/n1.net rw shared:3 master:2 - nsfs nsfs rw
`

func TestParse(t *testing.T) {
	all, err := Parse(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	want := []Mount{
		{"/", "/", "ext4", []string{"rw", "discard"}},
		{"/", "/sys/fs/cgroup", "tmpfs", []string{"rw", "mode=755"}},
		{"/", "/sys/fs/cgroup/cpu", "cgroup", []string{"rw", "cpu", "cpuacct"}},
		{"/a b", "/a b/ns", "ext4", []string{"rw"}},
		{"net:[4026532001]", "/a b/ns/n1.net", "nsfs", []string{"rw"}},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("got %v", all)
	}
	if got := Below(all, "/a b/ns"); !reflect.DeepEqual(got, []string{"/a b/ns/n1.net", "/a b/ns"}) {
		t.Errorf("to unmount: %q", got)
	}
	if got := Below(all, "/a b/n"); got != nil {
		t.Errorf("a longer name is not below: %q", got)
	}
}

func TestParseRefusesOtherFormats(t *testing.T) {
	if _, err := Parse(strings.NewReader("tmpfs /run tmpfs rw 0 0\n")); err == nil {
		t.Error("no error")
	}
}

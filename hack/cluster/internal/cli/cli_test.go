package cli

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestParseTakesFlagsAnywhere(t *testing.T) {
	for _, line := range []string{"--dir d restart n1", "restart --dir d n1", "restart n1 --dir=d"} {
		fs := flag.NewFlagSet("node", flag.ContinueOnError)
		dir := fs.String("dir", "", "")
		rest, err := parse(fs, strings.Fields(line))
		if err != nil || *dir != "d" || !slices.Equal(rest, []string{"restart", "n1"}) {
			t.Errorf("%s: %v, %v, %v", line, *dir, rest, err)
		}
	}
	fs := flag.NewFlagSet("node", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	if _, err := parse(fs, []string{"--unknown"}); err == nil {
		t.Error("an unknown flag is accepted")
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commands() {
		var out strings.Builder
		fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
		c.setup(fs)
		c.usage(&out, fs)
		if c.short == "" || !strings.Contains(out.String(), strings.TrimSpace(c.long)) {
			t.Errorf("%s: %q", c.name, out.String())
		}
	}
}

// Package run runs the machine's own commands.
package run

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Output runs a command and returns what it printed. An error carries what the
// command said on standard error.
func Output(ctx context.Context, name string, args ...string) (string, error) {
	return Cmd(exec.CommandContext(ctx, name, args...))
}

// Quiet is Output for a command whose output does not matter.
func Quiet(ctx context.Context, name string, args ...string) error {
	_, err := Output(ctx, name, args...)
	return err
}

// Cmd is Output for a command that needs more than arguments.
func Cmd(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(errs.String())
		if said == "" {
			said = strings.TrimSpace(out.String())
		}
		return out.String(), fmt.Errorf("running %s: %w: %s", strings.Join(brief(cmd.Args), " "), err, said)
	}
	return out.String(), nil
}

// brief keeps a long command line readable in an error.
func brief(args []string) []string {
	if len(args) > 12 {
		return append(append([]string{}, args[:12]...), "...")
	}
	return args
}

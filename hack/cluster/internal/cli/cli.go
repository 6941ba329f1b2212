// Package cli is the command line.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/delay"
	"perfrun.dev/perfrun/hack/cluster/internal/layout"
	"perfrun.dev/perfrun/hack/cluster/internal/proc"
	"perfrun.dev/perfrun/hack/cluster/internal/relay"
)

// command is one of the program's commands.
type command struct {
	name  string
	args  string
	short string
	long  string
	// setup declares the command's own flags and returns what runs it.
	setup func(*flag.FlagSet) runner
}

type runner func(ctx context.Context, e env, args []string) error

// env is what every command gets.
type env struct {
	layout layout.Layout
	out    io.Writer
}

// usageError is an error that a look at the help would have prevented.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errQuiet ends the program with a failure that has been explained already.
var errQuiet = errors.New("")

// Main runs the program and returns its exit code: 0 for success, 1 for a
// failure, 2 for a wrong command line.
func Main(args []string) int {
	if len(args) > 1 && args[0] == proc.ExecCommand {
		fmt.Fprintln(os.Stderr, proc.Exec(args[1])) // returns only if it failed
		return 1
	}
	if len(args) == 5 && args[0] == relay.Command {
		fmt.Fprintln(os.Stderr, relay.Serve(args[1], args[2], args[3], args[4]))
		return 1
	}
	if len(args) == 2 && args[0] == delay.Command {
		by, err := time.ParseDuration(args[1])
		if err == nil {
			err = delay.Serve(by)
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := dispatch(ctx, args)
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "localcluster: interrupted; the same command goes on from here, `localcluster down` clears up")
		return 1
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "localcluster: %v\nsee: localcluster help\n", err)
		return 2
	case errors.Is(err, errQuiet):
		return 1
	default:
		fmt.Fprintf(os.Stderr, "localcluster: %v\n", err)
		return 1
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		help(os.Stderr)
		return usagef("a command is missing")
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		if len(args) > 1 && args[0] == "help" {
			return dispatch(ctx, []string{args[1], "--help"})
		}
		help(os.Stdout)
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:])
		}
	}
	return usagef("there is no command %q", args[0])
}

func (c command) run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are reported once, by Main
	dir := fs.String("dir", "", "`folder` in which everything is made (default: .local in the checkout)")
	run := c.setup(fs)
	rest, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		c.usage(os.Stdout, fs)
		return err
	}
	if err != nil {
		return usageError{err}
	}
	l, err := layout.New(*dir)
	if err != nil {
		return err
	}
	return run(ctx, env{layout: l, out: os.Stdout}, rest)
}

// parse allows flags before, between and after arguments.
func parse(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

func (c command) usage(w io.Writer, fs *flag.FlagSet) {
	line := strings.Join(strings.Fields("localcluster "+c.name+" "+c.args+" [flags]"), " ")
	fmt.Fprintf(w, "%s\n\n%s\n\nFlags:\n", line, strings.TrimSpace(c.long))
	fs.SetOutput(w)
	fs.PrintDefaults()
}

func help(w io.Writer) {
	fmt.Fprint(w, `localcluster makes a Kubernetes cluster with Dapr on one Linux machine, from
source, without a container engine or registry, and without touching the
machine's network.

Commands:
`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-32s %s\n", c.name+" "+c.args, c.short)
	}
	fmt.Fprint(w, `
Everything is made in one folder, .local in the checkout unless --dir says
otherwise: programs in bin, the cluster in cluster, log files in logs (one per
process: etcd.log, kube-apiserver.log, kubelet-n1.log, containerd-n1.log, ...,
and build-*.log). More about a command: localcluster help COMMAND
`)
}

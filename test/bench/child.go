package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// The roles that this program takes when it executes itself: a process each, so that their CPU can be told apart.
const (
	roleServer = "server"
	roleOurs   = "ours"
	roleFortio = "fortio"
	roleProbe  = "probe"
)

// act takes a role: it reads its job and prints what came of it, as JSON.
func act(role, job string) error {
	var result any
	var err error
	decode := func(into any) { err = json.Unmarshal([]byte(job), into) }
	switch role {
	case roleServer:
		var j serverJob
		if decode(&j); err == nil {
			return serve(j)
		}
	case roleProbe:
		var j probeJob
		if decode(&j); err == nil {
			result, err = probe(j)
		}
	case roleOurs, roleFortio:
		run := runOurs
		if role == roleFortio {
			run = runFortio
		}
		var j loadJob
		if decode(&j); err == nil {
			result, err = run(j)
		}
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func (b *bench) command(ctx context.Context, role string, job any) (*exec.Cmd, error) {
	encoded, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, b.self, "-role="+role, "-job="+string(encoded)) //nolint:gosec // this very program
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// The processors of server and load tester where they are kept apart.
const serversProcessor, loadsProcessor = 0, 1

// start starts a child, and keeps it on its processor if it is to be apart.
func (b *bench) start(cmd *exec.Cmd, processor int) error {
	if !b.apart || runtime.NumCPU() < 2 {
		return cmd.Start()
	}
	// A child inherits the processors of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return onProcessor(processor, cmd.Start)
}

// child runs this program in a role, and decodes what it prints.
func (b *bench) child(ctx context.Context, role string, job, result any) error {
	cmd, err := b.command(ctx, role, job)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err = b.start(cmd, loadsProcessor); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("in the role of %s: %w", role, err)
	}
	return json.NewDecoder(&out).Decode(result)
}

// stopTime is how long a server may take to print what it has recorded: a few megabytes.
const stopTime = 30 * time.Second

var errServer = errors.New("the server has not ended")

// serving runs a server of its own for f, and returns what it has recorded.
func (b *bench) serving(ctx context.Context, job serverJob, f func(addr string) error) (history, error) {
	var seen history
	cmd, err := b.command(ctx, roleServer, job)
	if err != nil {
		return seen, err
	}
	stop, err := cmd.StdinPipe()
	if err != nil {
		return seen, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return seen, err
	}
	if err := b.start(cmd, serversProcessor); err != nil {
		return seen, fmt.Errorf("starting server: %w", err)
	}
	b.serverPID = cmd.Process.Pid
	reader := bufio.NewReader(out)
	addr, err := reader.ReadString('\n')
	if err == nil {
		err = f(strings.TrimSpace(addr))
	}
	killed := time.AfterFunc(stopTime, func() { _ = cmd.Process.Kill() })
	_ = stop.Close()
	dump, readErr := io.ReadAll(reader)
	waitErr := cmd.Wait()
	if !killed.Stop() {
		waitErr = errServer
	}
	if err := errors.Join(err, readErr, waitErr); err != nil {
		return seen, err
	}
	return seen, json.Unmarshal(dump, &seen)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// The machine is seldom idle. How much of it other processes took is read around each load and printed with the figures: when it is
// much, what is far out at p99 and p99.9 says more about them than about any load tester.

// busyTicks is the CPU time that this machine's processes have used, and what a hypervisor took away from them, in ticks of 10 ms.
func busyTicks() (busy, stolen int64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	// man 5 proc: user nice system idle iowait irq softirq steal.
	var user, nice, system, idle, iowait, irq, softirq int64
	if _, err := fmt.Sscanf(strings.SplitN(string(text), "\n", 2)[0], "cpu %d %d %d %d %d %d %d %d",
		&user, &nice, &system, &idle, &iowait, &irq, &softirq, &stolen); err != nil {
		return 0, 0, fmt.Errorf("reading /proc/stat: %w", err)
	}
	return user + nice + system + irq + softirq, stolen, nil
}

// attempts at a load that others disturb.
const attempts = 3

// lookTime is how long others are watched before a load.
const lookTime = 2 * time.Second

// awaitQuiet waits while others use more of the machine than they may, until all the waiting that is allowed is used up.
func (b *bench) awaitQuiet(ctx context.Context) error {
	for b.waiting > 0 {
		watched := watching()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookTime):
		}
		b.waiting -= lookTime
		seen, err := watched()
		if err != nil || seen.others <= b.mostOthers {
			return err
		}
	}
	return ctx.Err()
}

const tick = 10 * time.Millisecond

// share of one processor, as 0.1 for a tenth of it.
type share struct{ others, stolen float64 }

// watching returns a function that tells what others have used since, in processors. What this process and those that it has waited
// for have used is not others'.
func watching() func() (share, error) {
	began := time.Now()
	busyBefore, stolenBefore, errBefore := busyTicks()
	ownBefore := ownTime()
	return func() (share, error) {
		busy, stolen, err := busyTicks()
		if errBefore != nil || err != nil {
			return share{}, errors.Join(errBefore, err)
		}
		own := ownTime() - ownBefore
		took := time.Since(began)
		return share{
			others: max(0, float64(time.Duration(busy-busyBefore)*tick-own)/float64(took)),
			stolen: float64(time.Duration(stolen-stolenBefore)*tick) / float64(took),
		}, nil
	}
}

func ownTime() time.Duration {
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		// It cannot fail for this process.
		panic(err)
	}
	return cpuTime() + time.Duration(children.Utime.Nano()+children.Stime.Nano())
}

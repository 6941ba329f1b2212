package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// onProcessor calls f with the calling thread kept on the n-th of the processors that it may use.
func onProcessor(n int, f func() error) (err error) {
	var may, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("asking for the thread's processors: %w", err)
	}
	for cpu, left := 0, n; only.Count() == 0; cpu++ {
		if may.IsSet(cpu) {
			if left == 0 {
				only.Set(cpu)
			}
			left--
		}
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("keeping the thread on a processor: %w", err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &may)) }()
	return f()
}

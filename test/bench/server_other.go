//go:build !linux

package main

import "errors"

func serve(serverJob) error { return errors.New("the benchmark's server needs Linux") }

func onProcessor(int, func() error) error {
	return errors.New("keeping a load on a processor needs Linux")
}

func probe(probeJob) (probeResult, error) { return probeResult{}, errors.New("the probe needs Linux") }

package cli

import (
	"fmt"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// verdictError is a verdict that is not Succeeded, as the exit code that scripts tell them apart by.
type verdictError int

// The exit codes of verdicts. 1 is any other error.
const (
	exitFailed       verdictError = 2
	exitInconclusive verdictError = 3
	exitError        verdictError = 4
)

// exitCodes is what the help of each command says that ends with a verdict.
const exitCodes = "Exit codes: 0 Succeeded, 2 Failed (a threshold was missed), 3 Inconclusive, 4 Error, 1 anything else."

func (v verdictError) Error() string { return fmt.Sprintf("verdict with exit code %d", int(v)) }

func verdictOf(run *v1alpha1.PerfRun) error {
	switch run.Status.Phase {
	case v1alpha1.PhaseFailed:
		return exitFailed
	case v1alpha1.PhaseInconclusive:
		return exitInconclusive
	case v1alpha1.PhaseError:
		return exitError
	default:
		return nil
	}
}

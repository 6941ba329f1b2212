package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"perfrun.dev/perfrun/internal/loadtester"
	"perfrun.dev/perfrun/internal/measure"
)

func loadTesterCommand() *cobra.Command {
	var listen, run, target, publicKey string
	cmd := &cobra.Command{
		Use:   "loadtester",
		Short: "Run as the load tester of one PerfRun (the operator starts it in a pod)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := measure.ParsePublicKey(publicKey)
			if err != nil {
				return err
			}
			return loadtester.Serve(cmd.Context(), loadtester.Options{
				Addr: listen, Run: run, Target: target, PublicKey: key, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":8080", "address to serve the operator on")
	cmd.Flags().StringVar(&run, "run", "", "UID of the PerfRun to serve; plans of others are refused")
	cmd.Flags().StringVar(&target, "target", "", "host of the run's Service; plans that send requests elsewhere, but to the load tester's own sidecar, are refused")
	cmd.Flags().StringVar(&publicKey, "public-key", "", "the operator's Ed25519 public key in base64; calls need a token signed with its other half")
	for _, name := range []string{"run", "target", "public-key"} {
		must(cmd.MarkFlagRequired(name))
	}
	return cmd
}

// must turns the mistake of naming a flag that does not exist into a crash at start.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

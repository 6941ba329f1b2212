// Command localcluster makes a Kubernetes cluster with Dapr on one Linux
// machine, from source and without a container engine.
package main

import (
	"os"

	"perfrun.dev/perfrun/hack/cluster/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

// Command kubectl-perfrun is what people use perfrun with: `kubectl perfrun`.
package main

import (
	"os"

	"perfrun.dev/perfrun/internal/cli"
)

// version is set at build time with -ldflags "-X main.version=...".
var version = "dev"

func main() { os.Exit(cli.Main(version)) }

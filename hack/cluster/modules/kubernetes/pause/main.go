// Command pause holds a pod's namespaces open and does nothing else.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	// Where a pod shares one process namespace, this is its process 1 and the
	// parent of every orphan: ignoring SIGCHLD has the kernel reap them.
	signal.Ignore(syscall.SIGCHLD)
	<-end
}

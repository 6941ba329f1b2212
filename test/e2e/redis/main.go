// Redis is a state store that several actor hosts of the end-to-end suite share: miniredis, which Dapr's own tests of its Redis state store
// run against too, on port 6379. A module of its own: nothing of perfrun needs it.
package main

import (
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

func main() {
	store := miniredis.NewMiniRedis()
	if err := store.StartAddr(":6379"); err != nil {
		log.Fatal(err)
	}
	// Dapr asks how many replicas there are before it takes a store, which miniredis does not answer.
	store.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		if !strings.EqualFold(command, "INFO") || len(args) != 1 || !strings.EqualFold(args[0], "replication") {
			return false
		}
		peer.WriteBulk("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n")
		return true
	})
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	store.Close()
}

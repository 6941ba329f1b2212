// Command coredns is CoreDNS with only the plugins this cluster's Corefile
// uses: the stock main links every cloud provider's client and takes minutes
// longer to compile.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	// Each import registers the plugin of its name.
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// The order in which plugins see a query; CoreDNS refuses a plugin that is
	// registered but not listed.
	dnsserver.Directives = []string{
		"errors", "health", "ready", "cache", "loadbalance", "kubernetes",
	}
	coremain.Run()
}

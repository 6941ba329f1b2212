package measure

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// Within tells what a plan would send, or ask, outside its run. The token shows that the operator made the plan; this is for a day on which the
// operator is wrong, or no longer alone in having its key: a load tester is no tool for sending load to anybody else.
//
// Requests go to target, the host of the run's own Service, or to the load tester's own sidecar, over its loopback. What is read besides are
// pods, by address: never a name that resolves to whatever, never a link-local address, at which clouds serve credentials.
func (p *Plan) Within(target string) error {
	var errs []error
	check := func(err error, format string, args ...any) {
		if err != nil {
			errs = append(errs, fmt.Errorf(format+": %w", append(args, err)...))
		}
	}
	check(withinURL(p.Endpoints[Baseline].URL, func(host string) error {
		if host != target {
			return fmt.Errorf("requests go to the run's own Service %s, not to %s", target, host)
		}
		return nil
	}), "url of arm %s", Baseline)
	check(withinURL(p.Endpoints[Dapr].URL, loopback), "url of arm %s", Dapr)
	check(withinURL(p.SidecarMetadataURL, loopback), "sidecarMetadataURL")
	for name, u := range p.TracesURLs {
		check(withinURL(u, pod), "tracesURL of %s", name)
	}
	check(withinURL(p.SinkURL, pod), "sinkURL")
	for i, c := range p.Counters {
		check(withinURL(c.URL, pod), "counter %d", i)
	}
	if p.Actors != nil {
		for name, u := range p.Actors.Hosts {
			check(withinURL(u, pod), "actors: host %s", name)
		}
	}
	if p.MTLSProbe != "" {
		host, _, err := net.SplitHostPort(p.MTLSProbe)
		if err == nil {
			err = pod(host)
		}
		check(err, "mtlsProbe %q", p.MTLSProbe)
	}
	return errors.Join(errs...)
}

// withinURL looks at the host of a URL; there may be none.
func withinURL(s string, allowed func(host string) error) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	return allowed(u.Hostname())
}

func loopback(host string) error {
	if a, err := netip.ParseAddr(host); err != nil || !a.Unmap().IsLoopback() {
		return fmt.Errorf("%s is not the load tester's own sidecar: must be a loopback address", host)
	}
	return nil
}

func pod(host string) error {
	a, err := netip.ParseAddr(host)
	if a = a.Unmap(); err != nil || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return fmt.Errorf("%s is no pod: must be an address, and none that is link-local, multicast or unspecified", host)
	}
	return nil
}

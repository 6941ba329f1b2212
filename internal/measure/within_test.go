package measure

import (
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	const service = "invoke-target.bench"
	inside := func() Plan {
		p := validPlan()
		p.Endpoints = map[Arm]Endpoint{Baseline: {URL: "http://" + service + ":8080/echo", Method: "POST"},
			Dapr: {URL: "grpc://127.0.0.1:50001/s/m", Call: &Call{}}}
		p.Counters = []Counter{{Source: SourceLocalProc}, {Source: SourceRemoteProc, URL: "http://10.0.0.7:18081/usage"}, {Source: SourcePrometheus, URL: "http://[fd00::7]:9090/metrics"}}
		p.SidecarMetadataURL, p.MTLSProbe = "http://127.0.0.1:3500/v1.0/metadata", "10.0.0.7:50002"
		p.TracesURLs, p.SinkURL = map[string]string{"tg": "http://10.0.0.7:18082/traces"}, "http://10.0.0.8:8080/counts"
		p.Actors = &Actors{Hosts: map[string]string{"tg": "http://10.0.0.7:3501/v1.0/metadata"}}
		return p
	}
	tests := map[string]struct {
		change func(*Plan)
		says   string
	}{
		"the run's own":              {func(*Plan) {}, ""},
		"the other arm":              {func(p *Plan) { p.Endpoints[Dapr] = p.Endpoints[Baseline] }, "url of arm Dapr"},
		"another Service":            {func(p *Plan) { p.Endpoints[Baseline] = Endpoint{URL: "http://shop.prod:8080/echo"} }, "own Service " + service + ", not to shop.prod"},
		"a longer name":              {func(p *Plan) { p.Endpoints[Baseline] = Endpoint{URL: "http://" + service + ".example.org/"} }, "not to " + service + ".example.org"},
		"a name before an @":         {func(p *Plan) { p.Endpoints[Baseline] = Endpoint{URL: "http://" + service + "@example.org/"} }, "not to example.org"},
		"another sidecar":            {func(p *Plan) { p.Endpoints[Dapr] = Endpoint{URL: "http://10.0.0.9:3500/v1.0/invoke/shop/method/buy"} }, "must be a loopback address"},
		"a name for the loopback":    {func(p *Plan) { p.SidecarMetadataURL = "http://localhost:3500/" }, "sidecarMetadataURL"},
		"a cloud's metadata":         {func(p *Plan) { p.Counters[1].URL = "http://169.254.169.254/latest/meta-data" }, "counter 1"},
		"the same in IPv6's clothes": {func(p *Plan) { p.Counters[2].URL = "http://[::ffff:169.254.169.254]/" }, "counter 2"},
		"the API server by name":     {func(p *Plan) { p.TracesURLs["tg"] = "https://kubernetes.default.svc/" }, "tracesURL of tg"},
		"a sink by name":             {func(p *Plan) { p.SinkURL = "http://example.org/" }, "sinkURL"},
		"an actor host by name":      {func(p *Plan) { p.Actors.Hosts["tg"] = "http://example.org/" }, "host tg"},
		"a probe by name":            {func(p *Plan) { p.MTLSProbe = "example.org:443" }, "mtlsProbe"},
		"a probe of nothing":         {func(p *Plan) { p.MTLSProbe = "10.0.0.7" }, "mtlsProbe"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := inside()
			tc.change(&p)
			err := p.Within(service)
			if (err == nil) != (tc.says == "") || (err != nil && !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

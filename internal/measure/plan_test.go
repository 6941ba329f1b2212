package measure

import (
	"strings"
	"testing"
	"time"
)

func validPlan() Plan {
	return Plan{
		Version: Version, Run: "r", Attempt: "a", Instance: "i", RPS: 100, Body: []byte("{}"), ContentType: "application/json",
		RequestTimeout: time.Second,
		Endpoints: map[Arm]Endpoint{
			Baseline: {URL: "http://target:8080/echo", Method: "POST"}, Dapr: {URL: "http://127.0.0.1:3500/v1.0/invoke/t/method/echo", Method: "PUT"}},
		Blocks: []Block{
			{Connections: 4, Arm: Baseline, Pair: -1, Warmup: true},
			{Connections: 4, Arm: Baseline, Duration: time.Second},
			{Connections: 4, Arm: Dapr, Duration: 2 * time.Second},
		},
		Counters: []Counter{{Component: "app", Source: SourceRemoteProc, URL: "http://target:8081/usage"}},
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		change func(*Plan)
		says   string
	}{
		"valid":           {func(*Plan) {}, ""},
		"another version": {func(p *Plan) { p.Version = Version + 1 }, "version 5"},
		"no attempt":      {func(p *Plan) { p.Attempt = "" }, "attempt"},
		"rps zero":        {func(p *Plan) { p.RPS = 0 }, "rps 0"},
		"no timeout":      {func(p *Plan) { p.RequestTimeout = 0 }, "requestTimeout"},
		"no blocks":       {func(p *Plan) { p.Blocks = nil }, "0 blocks"},
		"no connections":  {func(p *Plan) { p.Blocks[1].Connections = 0 }, "0 connections"},
		"measured zero":   {func(p *Plan) { p.Blocks[1].Duration = 0 }, "duration 0s"},
		"few requests":    {func(p *Plan) { p.Blocks[1].Connections = 51 }, "at least two"},
		"arm":             {func(p *Plan) { p.Blocks[1].Arm = "Other" }, "arm"},
		"url":             {func(p *Plan) { p.Endpoints[Dapr] = Endpoint{URL: "localhost:3500", Method: "POST"} }, "url of arm Dapr"},
		"method":          {func(p *Plan) { p.Endpoints[Dapr] = Endpoint{URL: "http://a", Method: "GET /x"} }, "method of arm Dapr"},
		"grpc":            {func(p *Plan) { p.Endpoints[Dapr] = Endpoint{URL: "grpc://a:1/s/m", Call: &Call{}} }, ""},
		"grpc over http":  {func(p *Plan) { p.Endpoints[Dapr] = Endpoint{URL: "http://a:1/s/m", Call: &Call{}} }, "must be grpc://"},
		"http over grpc":  {func(p *Plan) { p.Endpoints[Dapr] = Endpoint{URL: "grpc://a:1/s/m", Method: "POST"} }, "must be http://"},
		"message too long": {func(p *Plan) {
			p.Endpoints[Dapr] = Endpoint{URL: "grpc://a:1/s/m", Call: &Call{Message: make([]byte, 2<<20)}}
		}, "message of arm Dapr"},
		"actors":               {withActors(&Actors{Type: "Counter", Warm: 1, Hosts: map[string]string{"tg": "http://10.0.0.1:3501/"}}), ""},
		"actors without type":  {withActors(&Actors{}), "a type must be set"},
		"too many warm actors": {withActors(&Actors{Type: "Counter", Warm: MaxWarmActors + 1}), "10001 warm ones"},
		"an actor host":        {withActors(&Actors{Type: "Counter", Hosts: map[string]string{"tg": "10.0.0.1:3501"}}), "host tg"},
		"actors without id":    {func(p *Plan) { p.Actors = &Actors{Type: "Counter"} }, "must hold {actor} once"},
		"an id without actors": {func(p *Plan) { withActors(nil)(p) }, "must hold {actor} once"},
		"counter without url":  {func(p *Plan) { p.Counters[0].URL = "" }, "counter 0"},
		"body of over one MiB": {func(p *Plan) { p.Body = make([]byte, 1<<20+1) }, "body"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := validPlan()
			tc.change(&p)
			err := p.Validate()
			if (err == nil) != (tc.says == "") || (err != nil && !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestCodeName(t *testing.T) {
	for code, want := range map[int]string{-1: "-1", 503: "503", FirstGRPCCode + 14: "Unavailable", FirstGRPCCode + 42: "Code(42)"} {
		if got := CodeName(code); got != want {
			t.Errorf("%d: got %s, want %s", code, got, want)
		}
	}
}

func TestLoadTime(t *testing.T) {
	if p := validPlan(); p.LoadTime() != 3*time.Second {
		t.Errorf("got %s", p.LoadTime())
	}
}

// withActors puts the place of an id into the addresses too.
func withActors(actors *Actors) func(*Plan) {
	return func(p *Plan) {
		p.Actors = actors
		for arm, e := range p.Endpoints {
			e.URL = "http://target/" + ActorID
			p.Endpoints[arm] = e
		}
	}
}

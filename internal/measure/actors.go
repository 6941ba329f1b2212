package measure

import "strings"

// ActorID stands in an endpoint's URL for the id of the actor that a request goes to.
const ActorID = "{actor}"

// MaxWarmActors is the most that Actors.Warm may be: all of them are called once before the load begins.
const MaxWarmActors = 10000

// Actors are what the requests of a plan go to, where they go to actors.
type Actors struct {
	// Type of all of them.
	Type string `json:"type"`
	// Warm is the number of actors that the requests go to in turn; 0: each request goes to a fresh one.
	Warm int `json:"warm,omitempty"`
	// Hosts are the metadata addresses of the sidecars that must host the type before any load, by pod.
	Hosts map[string]string `json:"hosts,omitempty"`
}

func (p *Plan) validateActors(check func(ok bool, format string, args ...any)) {
	a := p.Actors
	for arm, endpoint := range p.Endpoints {
		ids := strings.Count(endpoint.URL, ActorID)
		check(ids == 0 && a == nil || ids == 1 && a != nil, "url of arm %s %q: must hold %s once with actors, and not without", arm, endpoint.URL, ActorID)
	}
	if a == nil {
		return
	}
	check(a.Type != "", "actors: a type must be set")
	check(a.Warm >= 0 && a.Warm <= MaxWarmActors, "actors: %d warm ones: must be between 0 and %d", a.Warm, MaxWarmActors)
	for pod, url := range a.Hosts {
		check(isHTTP(url), "actors: host %s: url %q: must be http://host...", pod, url)
	}
}

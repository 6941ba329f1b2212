package measure

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzPlan: whatever is posted as a plan, looking at it neither crashes nor lets through what would.
func FuzzPlan(f *testing.F) {
	good, err := json.Marshal(validPlan())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":4,"rps":1e308,"blocks":[{"connections":1,"arm":"Dapr","duration":9223372036854775807}]}`))
	f.Add([]byte(`{"start":"2026-01-02T03:04:05Z","offset":-1,"blocks":[{"at":9223372036854775807,"duration":1},{"at":-9223372036854775808}]}`))
	f.Add([]byte(`{"endpoints":{"Dapr":{"url":"http://[::1%25]:99999/","call":null}},"actors":{"hosts":{"":":"}},"counters":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Plan
		if json.Unmarshal(text, &p) != nil || p.Validate() != nil {
			return
		}
		if d := p.LoadTime(); d < 0 {
			t.Errorf("a load time of %s", d)
		}
		for i, b := range p.Blocks {
			if n := p.PerConnection(b); n < 2 || n > 100000*int64(24*time.Hour/time.Second) {
				t.Errorf("block %d: %d requests on each connection", i, n)
			}
			if due := p.Due(b); p.Start.IsZero() != due.IsZero() {
				t.Errorf("block %d: due at %s", i, due)
			}
		}
	})
}

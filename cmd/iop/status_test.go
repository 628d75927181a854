package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"iop/client"
)

func TestProviderNumbersThatArentKnown(t *testing.T) {
	told := client.Counters{Capacity: 8, InFlight: 3, Queued: 1}
	for name, c := range map[string]struct {
		up             bool
		status, health string
		general, long  client.Counters
		want           string
	}{
		"all known":                {true, "available", "online", told, client.Counters{Capacity: 2}, "3 8 1 0 2 0"},
		"the capacity isn't known": {true, "available", "online", client.Counters{InFlight: 3}, client.Counters{}, "3 - 0 0 0 0"},
		"nor of one that is out":   {true, "unavailable", "degraded", client.Counters{Queued: 3}, client.Counters{}, "0 - 3 0 0 0"},
		"nothing could be read":    {true, "unspecified", "online", told, told, "- - - - - -"},
		"offline has none":         {true, "unavailable", "offline", client.Counters{}, client.Counters{}, "0 0 0 0 0 0"},
		"its node is down":         {false, "unavailable", "offline", client.Counters{}, client.Counters{}, "- - - - - -"},
	} {
		p := provider("p", client.ProviderStatus(c.status), client.Health(c.health))
		p.General, p.LongContext = c.general, c.long
		if got := strings.Join(providerNumbers(&client.Node{Connected: c.up}, p), " "); got != c.want {
			t.Errorf("%s: shown as %s, want %s", name, got, c.want)
		}
	}
}

// A sum to which no provider that serves could add its capacity isn't known either.
func TestSumsThatArentKnown(t *testing.T) {
	for name, c := range map[string]struct {
		available int
		general   client.Capacity
		want      string
	}{
		"known":               {1, client.Capacity{Counters: client.Counters{Capacity: 8, InFlight: 3}, Free: 5}, "3 8 0 5"},
		"all in use":          {1, client.Capacity{Counters: client.Counters{Capacity: 8, InFlight: 9, Queued: 1}}, "9 8 1 0"},
		"not known":           {1, client.Capacity{Counters: client.Counters{InFlight: 3}}, "3 - 0 -"},
		"none, as all is off": {0, client.Capacity{}, "0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			totals := client.Totals{Edges: 1, Nodes: 1, NodesConnected: 1, Providers: 1, ProvidersAvailable: c.available, General: c.general}
			if got := strings.Join(totalsRow("fresh", &totals)[4:], " "); got != c.want+" 0 0 0 0" {
				t.Errorf("fleet summary has %s", got)
			}
			var p page
			modelsPage(&p, []*client.ModelCapacity{{Model: "m", Edges: 1, Providers: 1, ProvidersAvailable: c.available, General: c.general}}, "")
			if _, row, _ := strings.Cut(p.text.String(), "\n"); !strings.HasSuffix(strings.Join(strings.Fields(row), " "), " "+c.want+" 0") {
				t.Errorf("fleet models has %s", row)
			}
			capacity := strings.Fields(c.want)[1]
			s := site("e", c.general.InFlight, c.general.Capacity, 0, true)
			if c.available == 0 {
				s.Nodes[0].Providers[0].Status = client.Unavailable
			}
			if got := (&fleetRow{status: s}).cells()[5]; got != capacity {
				t.Errorf("fleet status has a capacity of %s", got)
			}
			top := painter{width: 110, height: 20}
			if diff := cmp.Diff(capacity, strings.Fields(top.totals(&client.FleetSummary{Fresh: totals})[2])[3]); diff != "" {
				t.Error("top: " + diff)
			}
		})
	}
}

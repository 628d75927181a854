package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"iop/edge"
)

// fleet is what the command line asks for.
type fleet struct {
	edgeWire string
	edges    int
	seed     uint64
	tick     time.Duration // one step of the made-up life
}

// run lives all Edges until ctx ends.
func (f *fleet) run(ctx context.Context, log *slog.Logger) error {
	var all errgroup.Group
	for i := range f.edges {
		e, err := f.edge(i, log)
		if err != nil {
			return err
		}
		all.Go(func() error { return e.Run(ctx) })
	}
	return all.Wait()
}

func (f *fleet) edge(i int, log *slog.Logger) (*edge.Edge, error) {
	place := places[i%len(places)]
	id := fmt.Sprintf("%s-%d", place.city, i/len(places)+1)
	s := newSite(rand.New(rand.NewPCG(f.seed, uint64(i))), f.tick)
	return edge.New(edge.Options{
		ID: id, Name: place.name, Version: "demo", Labels: map[string]string{"region": place.region, "city": place.city, "demo": "true"},
		Address: f.edgeWire, Site: s, Operations: s.operations(), Logger: log.With("edge_id", id),
	})
}

var places = []struct{ city, name, region string }{
	{"seoul", "Seoul, Guro", "kr-capital"},
	{"busan", "Busan, Centum", "kr-south"},
	{"incheon", "Incheon, Songdo", "kr-capital"},
	{"daegu", "Daegu, Suseong", "kr-south"},
	{"daejeon", "Daejeon, Daedeok", "kr-middle"},
	{"gwangju", "Gwangju, Cheomdan", "kr-south"},
	{"suwon", "Suwon, Gwanggyo", "kr-capital"},
	{"ulsan", "Ulsan, Samsan", "kr-south"},
	{"sejong", "Sejong, Jochiwon", "kr-middle"},
	{"jeju", "Jeju, Nohyeong", "kr-islands"},
}

package edge

import (
	"context"
	"slices"
	"sync"
)

// JoinSites makes one Site of several: the nodes of the first, then those of the next. No node may be in two of them.
func JoinSites(sites ...Site) Site { return joinedSite(sites) }

type joinedSite []Site

// Nodes implements Site.
func (j joinedSite) Nodes() []Node {
	var all []Node
	for _, site := range j {
		all = append(all, site.Nodes()...)
	}
	return all
}

// Run implements Site. Nothing is news before every part has something worth telling: a part that is slow to look
// must not be told of as if it had nothing.
func (j joinedSite) Run(ctx context.Context, changed func()) {
	var mu sync.Mutex
	told := make([]bool, len(j))
	var all sync.WaitGroup
	for i, site := range j {
		all.Go(func() {
			site.Run(ctx, func() {
				mu.Lock()
				told[i] = true
				whole := !slices.Contains(told, false)
				mu.Unlock()
				if whole {
					changed()
				}
			})
		})
	}
	all.Wait()
}

// Announce implements Announcer for the parts that do.
func (j joinedSite) Announce(tell func(Announcement)) {
	for _, site := range j {
		if a, ok := site.(Announcer); ok {
			a.Announce(tell)
		}
	}
}

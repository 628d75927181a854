//go:build linux

package main

import (
	"sync"
	"time"
)

// pace measures how long this process is held up by its machine.
type pace struct {
	stop  chan struct{}
	ended chan struct{}

	mu   sync.Mutex
	late [paceKept]time.Duration // how late the last ticks came
	next int
	most time.Duration // since it was last taken
}

const (
	paceEvery = 50 * time.Millisecond
	paceKept  = int(10 * time.Second / paceEvery)
)

func startPace() *pace {
	p := &pace{stop: make(chan struct{}), ended: make(chan struct{})}
	go p.run()
	return p
}

func (p *pace) run() {
	defer close(p.ended)
	for {
		due := time.Now().Add(paceEvery)
		select {
		case <-time.After(paceEvery):
			p.add(time.Since(due))
		case <-p.stop:
			return
		}
	}
}

func (p *pace) add(late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late[p.next%paceKept] = late
	p.next++
	p.most = max(p.most, late)
}

// worst is the longest of the last ten seconds.
func (p *pace) worst() (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, late := range p.late {
		longest = max(longest, late)
	}
	return longest
}

// since is the longest since it was last asked for.
func (p *pace) since() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := p.most
	p.most = 0
	return most
}

func (p *pace) close() {
	close(p.stop)
	<-p.ended
}

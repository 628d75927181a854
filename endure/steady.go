//go:build linux

package main

import (
	"fmt"
	"time"
)

// steadyTime is what one look may take.
const steadyTime = 2 * time.Second

// steady tells whether all is as before a fault: the Edges that it concerned are connected, one of them answers, and the Control
// Plane says that it is ready.
func (c *chaos) steady(f *fault) bool { return c.unsteady(f) == "" }

func (c *chaos) unsteady(f *fault) string {
	select {
	case <-c.daemon.Ended():
		return "the daemon has ended by itself"
	default:
	}
	if !c.ask.ok("/readyz", steadyTime) {
		return "/readyz isn't 200"
	}
	switch f.target() {
	case theDaemon, theLog:
		return c.unsteadyFleet()
	case realEdge:
		return c.silent(c.real[f.Edges[0]].id)
	case someEdges:
		for _, n := range f.Edges {
			if !c.direct.well(n) {
				return c.direct.id(n) + " isn't connected"
			}
		}
		return c.silent(c.direct.id(f.Edges[0]))
	case theProxy:
		if !c.proxied.whole() {
			return fmt.Sprintf("%d of %d Edges are connected through the proxy", c.proxied.fleet.Connected(), c.proxied.edges)
		}
		return c.silent(c.proxied.id(f.Edges[0]))
	case peers:
		for i := range c.direct.edges { // any that no other fault disturbs
			if n := (f.Edges[0] + i) % c.direct.edges; c.direct.calm(n) {
				return c.silent(c.direct.id(n))
			}
		}
	}
	return ""
}

func (c *chaos) silent(id string) string {
	if !c.ask.ok("/edges/"+id+"/status?timeout="+steadyTime.String(), steadyTime+time.Second) {
		return "the status of " + id + " isn't 200"
	}
	return ""
}

func (c *chaos) allSteady() bool { return c.ask.ok("/readyz", steadyTime) && c.unsteadyFleet() == "" }

// unsteadyFleet looks at everything, also with the daemon's eyes.
func (c *chaos) unsteadyFleet() string {
	for _, f := range c.testbeds() {
		if !f.whole() {
			return fmt.Sprintf("%d of %d Edges of %s are connected", f.fleet.Connected(), f.edges, f.name)
		}
		if s := c.silent(f.id(0)); s != "" {
			return s
		}
	}
	for _, e := range c.real {
		if s := c.silent(e.id); s != "" {
			return s
		}
	}
	var list struct {
		Connected int `json:"connected"`
		Stale     int `json:"stale"`
	}
	if err := c.ask.get("/edges?limit=1", &list); err != nil {
		return "/edges isn't 200"
	}
	if want := c.direct.edges + c.proxied.edges + len(c.real); list.Connected+list.Stale < want {
		return fmt.Sprintf("/edges has %d of %d connected", list.Connected+list.Stale, want)
	}
	return ""
}

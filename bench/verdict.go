package main

import (
	"fmt"
	"strings"
)

// outcome is whether something that is wanted holds.
type outcome string

const (
	held        outcome = "held"
	notHeld     outcome = "NOT HELD"
	tooNoisy    outcome = "too noisy to tell"
	notMeasured outcome = "not measured"
)

// verdict is the outcome of one thing that is wanted.
type verdict struct {
	wanted  string
	outcome outcome
	found   string
}

func (v verdict) String() string { return string(v.outcome) + ": " + v.found }

type verdicts []verdict

// judge gives the verdicts on all that is wanted.
func judge(r *results, targets []target, figures []figure) (all verdicts) {
	for _, t := range targets {
		all = append(all, t.verdict(r))
	}
	return append(all, r.lossless(), r.linear(figures))
}

// held is false if any target is not held or too noisy to tell.
func (v verdicts) held() bool {
	for _, one := range v {
		if one.outcome == notHeld || one.outcome == tooNoisy {
			return false
		}
	}
	return true
}

func (v verdicts) text() string {
	var b strings.Builder
	for _, one := range v {
		fmt.Fprintf(&b, "  %-58s %s\n", one.wanted, one)
	}
	return b.String()
}

func (v verdicts) markdown() string {
	var b strings.Builder
	b.WriteString("| wanted | |\n|---|---|\n")
	for _, one := range v {
		fmt.Fprintf(&b, "| %s | %s |\n", one.wanted, one)
	}
	return b.String()
}

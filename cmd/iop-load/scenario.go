package main

import (
	"iop/configs"
	"iop/load"
)

// scenarioOf hands the configuration on as the plain options that package load takes.
func scenarioOf(c *configs.LoadScenario) load.Scenario {
	s := load.Scenario{
		Name: c.Name, Description: c.Description, Duration: c.Traffic.Duration, Ramp: c.Traffic.Ramp, AtOnce: c.Traffic.AtOnce,
		Edges: load.Edges(c.Edges),
		Traffic: load.Traffic{
			StatusRate: c.Traffic.StatusRate, SummaryRate: c.Traffic.SummaryRate, CommandRate: c.Traffic.CommandRate, ClientRate: c.Traffic.ClientRate,
			PhasedPercent: c.Traffic.PhasedPercent, PhaseDelay: c.Traffic.PhaseDelay, Readers: c.Traffic.Readers, SlowReaders: c.Traffic.SlowReaders,
			Timeout: c.Traffic.Timeout, CommandTimeout: c.Traffic.CommandTimeout,
		},
	}
	for _, d := range c.Disturb {
		s.Disturb = append(s.Disturb, load.Disturbance{Kind: load.DisturbanceKind(d.Kind), At: d.At, For: d.For, Every: d.Every,
			Percent: d.Percent, Rate: d.Rate, Delay: d.Delay})
	}
	return s
}

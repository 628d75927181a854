// Package probed makes what an Edge probes of what a configuration says.
package probed

import (
	"iop/configs"
	"iop/edge"
)

// Providers are those of a node.
func Providers(all []configs.EdgeProvider) []edge.ProbedProvider {
	providers := make([]edge.ProbedProvider, 0, len(all))
	for _, p := range all {
		providers = append(providers, edge.ProbedProvider{
			ID: p.ID, Type: p.Type, BaseURL: p.BaseURL, Models: p.Models,
			Capacity: uint32(p.Capacity), LongContextCapacity: uint32(p.LongContextCapacity), // configs bounds both
		})
	}
	return providers
}

package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"iop/actors"
)

// actorMetrics reads the actors' counters at each scrape. No label ever holds an edge_id.
type actorMetrics struct{ system counting }

var (
	edgesConnected   = desc("iop_edges_connected", "Edges that own their id now.")
	clientsConnected = desc("iop_clients_connected", "Clients whose hello was accepted and that are connected now.")
	hellosWaiting    = desc("iop_edge_hellos_waiting", "Connections of the Edge wire that have said nothing yet; at 4096 no more are accepted.")
	takeovers        = desc("iop_edge_takeovers_total", "Claims of an edge_id that was owned.")
	helloRefusals    = desc("iop_hello_refusals_total", "Hellos of Edges that were refused, by code.", "code")
	tlsFailures      = desc("iop_tls_handshake_failures_total", "TLS handshakes on the Edge wire that failed.")
	clientRefusals   = desc("iop_client_hello_refusals_total", "Hellos of Clients that were refused, by code.", "code")

	operationSteps      = desc("iop_operation_steps_total", "What happened to commands, by kind of event.", "kind")
	operationDuration   = desc("iop_operation_duration_seconds", "From asking for a command to its end, by how it ended.", "outcome")
	operationRefusals   = desc("iop_operation_refusals_total", "Commands that were refused before they were sent and left no record, by code.", "code")
	operationsDropped   = desc("iop_operations_dropped_total", "Records of operations that were dropped to make room for newer ones.")
	operationUnanswered = desc("iop_operations_unanswered", "Commands without an answer now: pending ones wait to be written, sent ones for their Edge.", "state")

	eventSubscribers = desc("iop_event_subscribers", "Live readers of events now.")
	eventBacklog     = desc("iop_event_backlog_longest", fmt.Sprintf("Events that the slowest live reader has before it; at %d it is ended.", actors.SubscriberBuffer))
	eventsDropped    = desc("iop_events_dropped_total", "Events that a live reader had no room for; it is ended at the first, and resumes.")

	deadLetters = desc("iop_dead_letters_total", "Messages to actors that were gone.")
	registryLag = desc("iop_registry_lag_seconds", "How late the registry is for the work that it sets itself every 2 s or sooner.")
)

// Describe implements prometheus.Collector.
func (actorMetrics) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, edgesConnected, clientsConnected, hellosWaiting, takeovers, helloRefusals, tlsFailures, clientRefusals, operationSteps,
		operationDuration, operationRefusals, operationsDropped, operationUnanswered, eventSubscribers, eventBacklog, eventsDropped, deadLetters, registryLag)
}

// Collect implements prometheus.Collector.
func (a actorMetrics) Collect(ch chan<- prometheus.Metric) {
	m := a.system.Metrics()
	gauge(ch, edgesConnected, float64(m.EdgesConnected))
	gauge(ch, clientsConnected, float64(m.ClientsConnected))
	gauge(ch, hellosWaiting, float64(m.HellosWaiting))
	gauge(ch, registryLag, m.RegistryLag.Seconds())
	gauge(ch, eventSubscribers, float64(m.Subscribers))
	if m.Subscribers > 0 { // without a reader there is no slowest one
		gauge(ch, eventBacklog, float64(m.LongestBacklog))
	}
	counter(ch, takeovers, m.Takeovers)
	counter(ch, tlsFailures, m.TLSFailures)
	counter(ch, eventsDropped, m.EventsDropped)
	counter(ch, operationsDropped, m.RecordsDropped)
	counter(ch, deadLetters, m.DeadLetters)
	counters(ch, helloRefusals, m.HelloRefusals)
	counters(ch, clientRefusals, m.ClientHelloRefusals)
	counters(ch, operationRefusals, m.CommandRefusals)
	counters(ch, operationSteps, m.Operations)
	for state, n := range m.OperationsUnanswered {
		gauge(ch, operationUnanswered, float64(n), string(state))
	}
	for outcome, d := range m.OperationDurations {
		ch <- prometheus.MustNewConstHistogram(operationDuration, d.Count, d.Seconds, d.Buckets, string(outcome))
	}
}

// counters shows one counter by a label.
func counters[K ~string](ch chan<- prometheus.Metric, d *prometheus.Desc, counts map[K]int64) {
	for label, n := range counts {
		counter(ch, d, n, string(label))
	}
}

package report

// metrics are what a threshold can name.
var metrics = allMetrics()

func allMetrics() map[string]metric {
	all := map[string]metric{
		"lost":           count(func(r *Report) uint64 { return r.Totals.Lost }),
		"duplicated":     count(func(r *Report) uint64 { return r.Totals.Duplicated }),
		"misrouted":      count(func(r *Report) uint64 { return r.Totals.Misrouted }),
		"executed_twice": count(func(r *Report) uint64 { return r.Totals.ExecutedTwice }),
		"out_of_order":   count(func(r *Report) uint64 { return r.Totals.OutOfOrder }),
		"skipped":        count(func(r *Report) uint64 { return r.Totals.Skipped }),
		"late":           count(func(r *Report) uint64 { return r.Totals.Late }),
		"gaps":           count(func(r *Report) uint64 { return r.Gaps }),

		"edges.connected":  count(func(r *Report) uint64 { return uint64(r.Edges.Connected) }),
		"edges.missing":    count(func(r *Report) uint64 { return uint64(max(0, r.Edges.Target-r.Edges.Connected)) }),
		"edges.reconnects": count(func(r *Report) uint64 { return r.Edges.Reconnects }),
		"edges.troubles":   count(func(r *Report) uint64 { return sum(r.Edges.Troubles) }),
		"connect.all":      maybe(milliseconds, func(r *Report) *float64 { return r.Edges.ConnectMS }),
		"connect.rate":     maybe(perSecond, func(r *Report) *float64 { return r.Edges.ConnectRate }),
		"reconnect.all":    maybe(milliseconds, func(r *Report) *float64 { return r.Reconnect.All }),

		"server.cpu_us_per_status": maybe(microseconds, func(r *Report) *float64 { return r.Server.CPUPerStatus }),
		"server.bytes_per_edge":    maybe(byteCount, func(r *Report) *float64 { return r.Server.BytesPerEdge }),
	}
	errors := count(func(r *Report) uint64 { return r.allRequests().Errors })
	errors.of = func(r *Report) float64 { return float64(r.allRequests().Sent) }
	all["errors"] = errors
	for name, of := range requestKinds {
		for metricName, m := range requestMetrics(of) {
			all[name+"."+metricName] = m
		}
	}
	return all
}

// requestKinds are the parts of a report that count requests.
var requestKinds = map[string]func(*Report) *Requests{
	"status":    func(r *Report) *Requests { return &r.Status },
	"summaries": func(r *Report) *Requests { return &r.Summaries },
	"commands":  func(r *Report) *Requests { return &r.Commands },
	"settled":   func(r *Report) *Requests { return &r.Settled },
	"clients":   func(r *Report) *Requests { return &r.Clients },
	"events":    func(r *Report) *Requests { return &r.Events },
}

func requestMetrics(of func(*Report) *Requests) map[string]metric {
	errors := count(func(r *Report) uint64 { return of(r).Errors })
	errors.of = func(r *Report) float64 { return float64(of(r).Sent) }
	return map[string]metric{
		"p50":      maybe(milliseconds, func(r *Report) *float64 { return of(r).P50 }),
		"p90":      maybe(milliseconds, func(r *Report) *float64 { return of(r).P90 }),
		"p99":      maybe(milliseconds, func(r *Report) *float64 { return of(r).P99 }),
		"p999":     maybe(milliseconds, func(r *Report) *float64 { return of(r).P999 }),
		"max":      maybe(milliseconds, func(r *Report) *float64 { return of(r).Max }),
		"sent":     count(func(r *Report) uint64 { return of(r).Sent }),
		"ok":       count(func(r *Report) uint64 { return of(r).OK }),
		"not_sent": count(func(r *Report) uint64 { return of(r).NotSent }),
		"errors":   errors,
	}
}

// allRequests adds up what was asked; events weren't.
func (r *Report) allRequests() Requests {
	var all Requests
	for _, one := range []*Requests{&r.Status, &r.Summaries, &r.Commands, &r.Settled, &r.Clients} {
		all.Sent += one.Sent
		all.OK += one.OK
		all.Errors += one.Errors
		all.Excused += one.Excused
		all.NotSent += one.NotSent
	}
	return all
}

func count(of func(*Report) uint64) metric {
	return metric{value: func(r *Report) (float64, bool) { return float64(of(r)), true }}
}

func maybe(u unit, of func(*Report) *float64) metric {
	return metric{unit: u, value: func(r *Report) (float64, bool) {
		if v := of(r); v != nil {
			return *v, true
		}
		return 0, false
	}}
}

func sum(kinds map[string]uint64) (n uint64) {
	for _, c := range kinds {
		n += c
	}
	return n
}

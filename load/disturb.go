package load

import (
	"context"
	"time"

	"iop/load/fleet"
	"iop/load/measure"
	"iop/load/report"
)

// within cuts a disturbance to what happens in this long a traffic; false: nothing of it.
func (d Disturbance) within(duration time.Duration) (Disturbance, bool) {
	d.For = min(d.For, duration-d.At)
	return d, d.At < duration
}

// disturb does one disturbance at its time, once or again and again.
func (r *run) disturb(ctx context.Context, began time.Time, d Disturbance) {
	end := began.Add(d.At + d.For)
	for at := began.Add(d.At); ; at = at.Add(d.Every) {
		if !sleepUntil(ctx, at) {
			return
		}
		r.once(ctx, began, d)
		if d.Every <= 0 || !at.Add(d.Every).Before(end) {
			return
		}
	}
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *run) once(ctx context.Context, began time.Time, d Disturbance) {
	switch d.Kind {
	case Drop:
		r.storm(ctx, began, d)
	case Churn:
		r.churn(ctx, d)
	case HalfOpen:
		r.fleet.Behave(r.some(d.Percent), fleet.Mute, 0, d.For)
	case LateAnswers:
		r.fleet.Behave(r.some(d.Percent), fleet.Late, d.Delay, d.For)
	case WrongAnswers:
		r.fleet.Behave(r.some(d.Percent), fleet.Wrong, 0, d.For)
	case SlowEdges:
		r.fleet.Behave(r.some(d.Percent), fleet.Slow, d.Delay, d.For)
	case Clones:
		r.fleet.Clone(r.some(d.Percent), d.For)
	case Restart:
		r.restart(ctx, began)
	}
}

// storm cuts links and takes the time until all Edges are back.
func (r *run) storm(ctx context.Context, began time.Time, d Disturbance) {
	some := r.some(d.Percent)
	at := time.Now()
	r.fleet.ResetLinks(some)
	r.timeStorm(ctx, report.Storm{Kind: string(Drop), AtS: at.Sub(began).Seconds(), Edges: len(some)}, time.Now())
}

// timeStorm waits for all Edges and notes how long it took from the last loss.
func (r *run) timeStorm(ctx context.Context, s report.Storm, lastLoss time.Time) {
	if at, err := r.fleet.AwaitAll(ctx); err == nil {
		s.Back = measure.Millis(max(0, at.Sub(lastLoss)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.storms = append(r.storms, s)
}

func (r *run) churn(ctx context.Context, d Disturbance) {
	ctx, cancel := context.WithTimeout(ctx, d.For)
	defer cancel()
	r.fleet.Churn(ctx, float64(d.Rate), d.Delay)
}

// restart has the Control Plane restarted. Until all Edges are back, what fails is excused.
func (r *run) restart(ctx context.Context, began time.Time) {
	if r.target.Restart == nil {
		return
	}
	s := report.Storm{Kind: string(Restart), AtS: time.Since(began).Seconds(), Edges: r.scenario.Edges.Count}
	r.traffic.Outage(true)
	defer r.traffic.Outage(false)
	r.fleet.Disturb()
	gone, err := r.target.Restart()
	r.server.find(r.target)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.storms = append(r.storms, s)
		return
	}
	r.timeStorm(ctx, s, gone)
}

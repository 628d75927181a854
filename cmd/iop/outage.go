package main

// outage tells once that the Control Plane gives no answer, and once that it does again.
type outage struct {
	app  *app
	told bool
}

// after takes what became of a question. next says when the next one follows.
func (o *outage) after(err error, next string) {
	switch {
	case err != nil && !o.told:
		o.app.say("iop: %s; %s", o.app.explain(err).what, next)
	case err == nil && o.told:
		o.app.say("iop: the Control Plane answers again")
	}
	o.told = err != nil
}

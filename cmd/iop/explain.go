package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"iop/client"
	"iop/configs"
)

// failure is an error as people are told it: what went wrong and what to try next. A command returns it for
// what it finds out itself; explain makes one of any other error.
type failure struct {
	what      string
	requestID string // by which the Control Plane's log knows it
	next      string
	exit      int
}

func (f failure) Error() string { return f.what }

func (f failure) text() string {
	text := "iop: " + f.what + "\n"
	if f.requestID != "" {
		text += "  request: " + f.requestID + "\n"
	}
	return text + "  try: " + f.next + "\n"
}

func (a *app) explain(err error) failure {
	var (
		mistake   *usageError
		problems  configs.Problems
		told      failure
		uncertain *client.Uncertain
		refused   *client.Problem
		odd       *client.Unexpected
		large     *client.TooLarge
	)
	switch {
	case errors.As(err, &mistake):
		return failure{what: mistake.Error(), next: mistake.command + " --help", exit: exitUsage}
	case errors.As(err, &problems):
		return failure{what: "the configuration is wrong:\n  " + strings.ReplaceAll(problems.Error(), "\n", "\n  "),
			next: "fix the file, or do without it: --addr http://host:port", exit: exitUsage}
	case errors.As(err, &told):
		return told
	case errors.As(err, &uncertain):
		return explainUncertain(uncertain)
	case errors.As(err, &refused):
		return a.explainProblem(refused)
	case errors.As(err, &large):
		return failure{what: large.Error(), next: "ask for less: one Edge, or those with a --label", exit: exitFailed}
	case errors.As(err, &odd) && !odd.Gateway():
		return failure{what: odd.Error(), next: a.whichPort(), exit: exitFailed}
	}
	return a.explainNetwork(err)
}

func (a *app) address() string {
	if a.asked == nil {
		return defaultAddress
	}
	return a.asked.address
}

// explainNetwork is for what brought no answer, and for everything that has no name of its own.
func (a *app) explainNetwork(err error) failure {
	var lost *client.Unreachable
	var away *client.GoAway
	var upgrade *client.UpgradeRefused
	var stranger *tls.CertificateVerificationError
	var gateway *client.Unexpected
	where := ""
	if a.asked != nil {
		where = fmt.Sprintf(" (%s, %s)", a.asked.using, a.asked.from)
	}
	switch {
	case errors.As(err, &stranger):
		return failure{what: "the certificate of the Control Plane is not trusted" + where + ": " + stranger.Err.Error(),
			next: "--ca-file FILE with the authority that signed it", exit: exitNotNow}
	case errors.As(err, &away):
		return failure{what: away.Error() + where, next: "the same command again later", exit: exitNotNow}
	case errors.As(err, &upgrade):
		return failure{what: upgrade.Error() + where, next: whichWire, exit: exitNotNow}
	case errors.As(err, &gateway):
		return failure{what: gateway.Error() + where, next: "the same command again later; a host in NO_PROXY is asked without the proxy that HTTP_PROXY names", exit: exitNotNow}
	case errors.As(err, &lost) && strings.Contains(err.Error(), "malformed HTTP"): // as an Edge wire's; net/http has no type for it
		return failure{what: "what answers is no HTTP server" + where, next: a.whereElse(lost.Err), exit: exitFailed}
	case errors.As(err, &lost):
		return failure{what: lost.Error() + where, next: a.whereElse(lost.Err), exit: exitNotNow}
	}
	return failure{what: err.Error(), next: "iop --help", exit: exitFailed}
}

const whichWire = "--wire ws://host:port/client, or wss:// if it has TLS; the port is 19080 unless set otherwise"

// whichPort is for whatever speaks, but not as the HTTP port of a Control Plane does.
func (a *app) whichPort() string {
	next := "is " + a.address() + " the HTTP port of a Control Plane? It is 18080 unless set otherwise"
	if strings.HasPrefix(a.address(), "http://") {
		next += "; with TLS the address begins with https://"
	}
	return next
}

// whereElse is what to try where no answer came, by what came instead.
func (a *app) whereElse(err error) string {
	const elsewhere = "is it running there? --addr, IOP_ADDR or \"iop context\" say where to ask"
	var noTLS tls.RecordHeaderError
	var dial *net.OpError
	u, parseErr := url.Parse(a.address())
	switch {
	case a.asked != nil && a.asked.using != a.asked.address:
		return "is it running there? " + whichWire
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS):
		return "the port has no TLS: an address that begins with http://, if it is the right port (18080 unless set otherwise)"
	case errors.As(err, &dial) && dial.Op == "dial" && parseErr == nil && u.Port() == "":
		u.Host += ":18080"
		return elsewhere + "; the port is 18080 unless it was set otherwise: " + u.String()
	case errors.As(err, &dial), errors.Is(err, context.DeadlineExceeded):
		return elsewhere
	}
	return a.whichPort()
}

func explainUncertain(u *client.Uncertain) failure {
	f := failure{what: clean(u.Error()), exit: exitNotNow,
		next: "the same command with --key " + u.Key + ": it will not run twice, unless the Control Plane was restarted meanwhile"}
	switch {
	case u.Restarted:
		f.next = "look at what became of it before sending it again: iop ops ls, iop status"
	case errors.Is(u.Err, context.Canceled):
		f.what = "interrupted; the command may have been sent"
	}
	return f
}

// advice is what to try next, by code; and the exit code.
type advice struct {
	next string
	exit int
}

var advices = map[client.Code]advice{
	client.InvalidRequest:       {"fix what the message names", exitUsage},
	client.FailedPrecondition:   {"is this iop of the same release as the Control Plane? iop version --server", exitFailed},
	client.MethodNotAllowed:     {"is this iop of the same release as the Control Plane? iop version --server", exitFailed},
	client.UnsupportedMediaType: {"is this iop of the same release as the Control Plane? iop version --server", exitFailed},
	client.Unauthenticated:      {`a token: IOP_TOKEN=..., or iop context set NAME --addr URL --token-stdin; "iop-control-plane token" makes one`, exitDenied},
	client.PermissionDenied:     {"a token whose role is operator, and an address that the Control Plane knows as its own", exitDenied},
	client.NotFound:             {"is the address the root of the HTTP interface? --addr http://host:port", exitNotFound},
	client.EdgeNotFound:         {"iop edges ls", exitNotFound},
	client.OperationNotFound:    {"iop ops ls", exitNotFound},
	client.IdempotencyConflict:  {"another --key: this one was used for another command", exitUsage},
	client.PayloadTooLarge:      {"smaller parameters", exitUsage},
	client.OperationUnsupported: {"iop edges get EDGE, which lists what it runs", exitUsage},
	client.EdgeBusy:             {"the same command in a few seconds", exitNotNow},
	client.EdgeError:            {"grep 'edge_id.*EDGE' in the Control Plane's log finds what the Edge said", exitFailed},
	client.EdgeDisconnected:     {"iop edges get EDGE tells since when and why; iop status EDGE --max-age 24h what was known last", exitNotNow},
	client.EdgeTimeout:          {"a longer --timeout; iop edges get EDGE tells when it was heard last", exitNotNow},
	client.ShuttingDown:         {"the same command once it is back", exitNotNow},
	client.ResourceExhausted:    {"the same command again later", exitNotNow},
	client.Internal:             {"the Control Plane's log tells more, under the request", exitFailed},
}

// named puts the Edge that was asked about into an advice.
func (a *app) named(next string) string {
	if a.edge == "" {
		return next
	}
	return strings.ReplaceAll(next, "EDGE", a.edge)
}

func (a *app) explainProblem(p *client.Problem) failure {
	known, ok := advices[p.Code]
	if !ok {
		known = advice{"is this iop of the same release as the Control Plane? iop version --server", exitFailed}
	}
	f := failure{what: clean(p.Error()), requestID: p.RequestID, next: a.named(known.next), exit: known.exit}
	if p.Code == client.InvalidRequest && strings.HasPrefix(p.Detail, "cursor: ") { // nobody but the Control Plane itself gave it
		f.what, f.next, f.exit = "the Control Plane was restarted while the list was fetched", "the same command again", exitNotNow
	}
	if p.Code == client.EdgeNotFound && a.edge != "" {
		f.what = clean(a.edge) + ": " + f.what
	}
	if p.EdgeError != nil {
		f.what += "; the Edge said " + clean(*p.EdgeError)
	}
	if p.DisconnectedAt != nil {
		f.what += "; its last connection ended " + a.when(p.DisconnectedAt)
		if p.DisconnectReason != nil {
			f.what += " (" + clean(*p.DisconnectReason) + ")"
		}
	}
	switch o := p.Operation; {
	case o == nil:
	case p.Code == client.ShuttingDown && !o.State.Terminal(): // its record ends with the process
		f.next = fmt.Sprintf("it may have run, and no record of it is left after the restart: look at iop status %s before sending it again", o.EdgeID)
	default:
		var note string
		note, f.next = sequel(o)
		f.exit = badEnd(o.State)
		f.what += "; the command's state is " + string(o.State) + note
	}
	return f
}

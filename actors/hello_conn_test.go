package actors

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestHelloIsAnswered(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := dial(t, s)
		m := helloEnvelope(hello("e1"))
		m.Id = 0 // any id, 0 included, is copied
		f.send(m)
		a := f.next()
		r := a.GetEdgeHelloResponse()
		if r == nil || a.ReplyTo != 0 {
			t.Fatalf("answered with %v", a)
		}
		wantEqual(t, "answer", []any{r.ServerId, r.ServerVersion, r.ProtocolVersion, r.HeartbeatInterval.AsDuration(), r.MaxFrameBytes},
			[]any{"cp", "test", 1, 15 * time.Second, 1 << 20})
		// What the hello's answer says is already so.
		fleet, v := view(t, s, "e1")
		if v == nil || fleet.State(v) != Connected {
			t.Fatalf("view %+v", v)
		}
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected"})
	})
}

func TestHelloRefusals(t *testing.T) {
	key := EdgeKey{Pattern: "seoul-*", SHA256: sha256.Sum256([]byte("good"))}
	authed := func(h *iopv1.EdgeHelloRequest, token string) *iopv1.Envelope {
		h.Token = token
		return helloEnvelope(h)
	}
	answer := helloEnvelope(hello("seoul-1"))
	answer.ReplyTo = 9
	version2 := hello("seoul-1")
	version2.ProtocolVersion = 2
	for name, c := range map[string]struct {
		send *iopv1.Envelope
		code iopv1.ErrorCode
	}{
		"not a hello":       {ping(), iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION},
		"a status":          {statusOf("seoul-1", "n"), iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION},
		"no body":           {&iopv1.Envelope{Id: 3}, iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION},
		"an answer":         {answer, iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION},
		"no id":             {authed(hello(""), "good"), iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT},
		"version":           {helloEnvelope(version2), iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION},
		"no token":          {authed(hello("seoul-1"), ""), iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED},
		"wrong token":       {authed(hello("seoul-1"), "bad"), iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED},
		"token of other id": {authed(hello("busan-1"), "good"), iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED},
	} {
		t.Run(name, func(t *testing.T) {
			opts := testOptions()
			opts.Keyring = &Keyring{Edges: []EdgeKey{key}}
			bubble(t, opts, func(t *testing.T, s *System) {
				f := dial(t, s)
				f.send(c.send)
				m := f.next()
				if m.GetError().GetCode() != c.code || m.ReplyTo != c.send.Id {
					t.Fatalf("answered with %v, want %v", m, c.code)
				}
				if strings.Contains(m.GetError().Message, "bad") {
					t.Error("the answer repeats the token")
				}
				f.ended()
				wantEqual(t, "connections", connections(s), 0)
				wantEqual(t, "events", len(kinds(t, s, "")), 0)
				var refusals int64
				for _, n := range s.Metrics().HelloRefusals {
					refusals += n
				}
				wantEqual(t, "refusals counted", refusals, 1)
			})
		})
	}
}

func TestFramingBeforeTheHello(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"length 0":             {0, 0, 0, 0},
		"over 64 KiB":          {0, 1, 0, 1},
		"undecodable":          {0, 0, 0, 2, 0xff, 0xff},
		"what TLS would begin": {22, 3, 1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := dial(t, s)
				f.write(bytes)
				f.refusedWith(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT)
				f.ended()
				wantEqual(t, "connections", connections(s), 0)
				wantEqual(t, "hello places taken", len(s.hellos), 0)
				wantEqual(t, "refusals counted", s.Metrics().HelloRefusals["invalid_request"], 1)
			})
		})
	}
}

func TestHelloInTime(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := dial(t, s)
		frame, _ := wire.AppendFrame(nil, helloEnvelope(hello("slow")))
		began := time.Now()
		f.write(frame[:len(frame)-1]) // all but its last byte
		f.ended()
		wantEqual(t, "given", time.Since(began), 10*time.Second)
		wantEqual(t, "connections", connections(s), 0)
		wantEqual(t, "hello places taken", len(s.hellos), 0)
	})
}

// A refused claim must leave nothing behind: its actor once waited for a decision that had been made.
func TestRefusedClaimsLeaveNothing(t *testing.T) {
	opts := testOptions()
	opts.Table.MaxConnections = 1
	bubble(t, opts, func(t *testing.T, s *System) {
		owner := connect(t, s, "e1")
		late := dial(t, s)
		late.send(helloEnvelope(hello("e2")))
		if after := late.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED).ReconnectAfter.AsDuration(); after < 5*time.Second || after > 10*time.Second {
			t.Errorf("reconnect_after %v", after)
		}
		late.ended()
		wantEqual(t, "connections", connections(s), 1)
		// Over the limit an id that is connected may still take its own place.
		again := connect(t, s, "e1")
		owner.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED)
		wantEqual(t, "connections", connections(s), 1)
		again.conn.Close()
		synctest.Wait()
		connect(t, s, "e2")
		wantEqual(t, "connections", connections(s), 1)
	})
}

// Those who are turned away at one moment are not to come back at one moment.
func TestTurnedAwayAreSpread(t *testing.T) {
	opts := testOptions()
	opts.Table.MaxConnections = 1
	bubble(t, opts, func(t *testing.T, s *System) {
		connect(t, s, "e0")
		var back []time.Duration
		for i := range 50 {
			f := dial(t, s)
			f.send(helloEnvelope(hello(fmt.Sprint("late", i))))
			back = append(back, f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED).ReconnectAfter.AsDuration())
		}
		first, last := slices.Min(back), slices.Max(back)
		if first < turnAwayTime || last > 2*turnAwayTime || last-first < turnAwayTime/2 {
			t.Errorf("the first of 50 comes back after %v, the last after %v", first, last)
		}
		wantEqual(t, "counted", s.Metrics().HelloRefusals[overloaded], 50)
	})
}

// Each refusal is counted; of many a second few are in the log, with the id that was claimed.
func TestRefusalsAreLogged(t *testing.T) {
	opts := testOptions()
	var log bytes.Buffer
	opts.Log = zerolog.New(&log)
	bubble(t, opts, func(t *testing.T, s *System) {
		for range 3 * refusalsASecond {
			f := dial(t, s)
			f.send(helloEnvelope(hello("-wrong\n" + strings.Repeat("x", 300))))
			f.refusedWith(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT)
		}
		wantEqual(t, "counted", s.Metrics().HelloRefusals["invalid_request"], 3*refusalsASecond)
	})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	wantEqual(t, "lines", len(lines), refusalsASecond)
	if !strings.HasPrefix(lines[0], `{"level":"info","edge_id":"-wrong\nxxx`) || len(lines[0]) > 400 || !strings.Contains(lines[0], `"code":"invalid_request","why":"`) {
		t.Errorf("the log has %s", lines[0])
	}
}

// What an Edge says has a field of its own: a second "message" would be the line's own, or lost, as the reader of the log likes.
func TestWhatAnEdgeSaidIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := &System{log: zerolog.New(&log)}
	s.logEdgeError("e1", &iopv1.Error{Code: iopv1.ErrorCode_ERROR_CODE_INTERNAL, Message: "no luck"})
	wantEqual(t, "the line", log.String(), `{"level":"warn","edge_id":"e1","code":"INTERNAL","said":"no luck","message":"an Edge answered with an error"}`+"\n")
}

// However many claim an id whose owner is asked, few wait for its answer.
func TestManyClaimants(t *testing.T) {
	opts := testOptions()
	opts.Table.RejectDuplicates = true
	bubble(t, opts, func(t *testing.T, s *System) {
		owner := connectAs(t, s, helloOf("e1", "owner"))
		var claimants []*fakeEdge
		for i := range maxWaitingClaims + 2 {
			f := dial(t, s)
			f.send(helloEnvelope(helloOf("e1", fmt.Sprint(i))))
			synctest.Wait()
			claimants = append(claimants, f)
		}
		for _, f := range claimants[maxWaitingClaims:] {
			f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED)
		}
		owner.reply(owner.request().Id, &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
		for _, f := range claimants[:maxWaitingClaims] {
			f.refusedWith(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)
		}
		wantEqual(t, "connections", connections(s), 1)
		refusals := s.Metrics().HelloRefusals
		wantEqual(t, "counted", []int64{refusals[overloaded], refusals["failed_precondition"]}, []int64{2, maxWaitingClaims})
	})
}

// A claim that is withdrawn while it waits is decided no more.
func TestWithdrawnClaim(t *testing.T) {
	opts := testOptions()
	opts.Table.RejectDuplicates = true
	bubble(t, opts, func(t *testing.T, s *System) {
		connectAs(t, s, helloOf("e1", "owner")) // which doesn't answer the Ping
		heard := make(chan any, 8)
		pid := s.root().Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *decided, *claimGone:
				heard <- m
			}
		}))
		s.root().Send(s.registry, &claimAsk{pid: pid, hello: helloOf("e1", "claimant"), pulse: &Pulse{}, gone: func() bool { return false }})
		s.root().Send(s.registry, &claimWithdrawn{pid: pid})
		m := <-heard
		if _, ok := m.(*claimGone); !ok {
			t.Errorf("heard %T", m)
		}
		time.Sleep(ownerProbeTime + time.Second)
		_, v := view(t, s, "e1")
		wantEqual(t, "owner, heard more", []any{v.InstanceID, v.Connected, len(heard)}, []any{"owner", true, 0})
		s.root().Stop(pid)
	})
}

// An Edge that hangs up while its claim waits for the present owner's sign of life.
func TestClaimantHangsUp(t *testing.T) {
	opts := testOptions()
	opts.Table.RejectDuplicates = true
	for name, ownerAnswers := range map[string]bool{"owner lives": true, "owner is gone": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, opts, func(t *testing.T, s *System) {
				owner := connectAs(t, s, helloOf("e1", "a"))
				claimant := dial(t, s)
				claimant.send(helloEnvelope(helloOf("e1", "b")))
				asked := owner.request()
				claimant.conn.Close()
				synctest.Wait()
				if ownerAnswers {
					owner.reply(asked.Id, &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
					wantEqual(t, "connections", connections(s), 1)
					_, v := view(t, s, "e1")
					wantEqual(t, "owner", v.InstanceID, "a")
					return
				}
				time.Sleep(4 * time.Second)
				_, v := view(t, s, "e1")
				wantEqual(t, "owner and whether it is connected", []any{v.InstanceID, v.Connected}, []any{"b", false})
				wantEqual(t, "connections", connections(s), 0)
			})
		})
	}
}

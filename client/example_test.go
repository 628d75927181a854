package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"iop/client"
)

// pretend answers like a Control Plane with two Edges.
func pretend() *httptest.Server {
	const (
		seoul  = `{"edge_id":"seoul-1","state":"connected","connected":true,"operations":["model.load"]}`
		busan  = `{"edge_id":"busan-1","state":"disconnected","connected":false,"disconnected_at":"2026-01-02T03:04:05Z","disconnect_reason":"heartbeat_timeout"}`
		status = `{"edge_id":"seoul-1","connected":true,"source":"live","nodes":[{"node_id":"gpu-1","connected":true,"providers":[
			{"provider_id":"vllm-0","status":"available","health":"online","models":["qwen3-32b"],"general":{"capacity":8,"in_flight":3,"queued":0}}]}]}`
		events = "id: e1\nevent: node_ready\ndata: {\"id\":\"e1\",\"kind\":\"node_ready\",\"edge_id\":\"seoul-1\",\"at\":\"2026-01-02T03:04:05Z\"}\n\n" +
			"event: gap\ndata: {\"dropped\":3,\"reason\":\"overwritten\"}\n\n" +
			"id: e5\nevent: command_succeeded\ndata: {\"id\":\"e5\",\"kind\":\"command_succeeded\",\"edge_id\":\"seoul-1\",\"at\":\"2026-01-02T03:04:06Z\"}\n\n"
	)
	mux := http.NewServeMux()
	says := func(pattern, contentType string, code int, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		})
	}
	says("GET /edges", "application/json", 200, `{"edges":[`+busan+`,`+seoul+`],"total":2,"connected":1,"stale":0,"disconnected":1,"next_cursor":null}`)
	says("GET /edges/seoul-1/status", "application/json", 200, status)
	says("GET /edges/busan-1/status", "application/problem+json", 503, `{"code":"edge_disconnected","detail":"the Edge is known, but has no connection now",
		"disconnected_at":"2026-01-02T03:04:05Z","disconnect_reason":"heartbeat_timeout"}`)
	says("POST /edges/seoul-1/commands", "application/json", 202, `{"operation_id":"op-1","edge_id":"seoul-1","state":"accepted"}`)
	says("GET /edges/seoul-1/operations/op-1", "application/json", 200, `{"operation_id":"op-1","edge_id":"seoul-1","state":"succeeded"}`)
	mux.HandleFunc("GET /fleet/events", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"events":[],"gap":null,"next":"e0"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, events)
	})
	return httptest.NewServer(mux)
}

// Which Edges are gone, and why?
func ExampleRepository_AllEdges() {
	server := pretend()
	defer server.Close()
	repo, err := client.New(server.URL, client.Options{Token: "iop_..."})
	if err != nil {
		log.Fatal(err)
	}
	defer repo.Close()
	for e, err := range repo.AllEdges(context.Background(), client.EdgeQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		if e.DisconnectReason != nil { // nil: it never was disconnected
			fmt.Println(e.EdgeID, e.State, *e.DisconnectReason)
			continue
		}
		fmt.Println(e.EdgeID, e.State)
	}
	// Output:
	// busan-1 disconnected heartbeat_timeout
	// seoul-1 connected
}

// An Edge's nodes and providers, and what it means when there is no answer.
func ExampleRepository_Status() {
	server := pretend()
	defer server.Close()
	repo, err := client.New(server.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer repo.Close()
	for _, id := range []string{"seoul-1", "busan-1"} {
		s, err := repo.Status(context.Background(), id, client.StatusQuery{Timeout: 5 * time.Second})
		var problem *client.Problem
		switch {
		case errors.Is(err, client.EdgeDisconnected) && errors.As(err, &problem):
			fmt.Println(id, "is gone:", *problem.DisconnectReason)
		case err != nil:
			log.Fatal(err)
		default:
			p := s.Nodes[0].Providers[0]
			fmt.Printf("%s has %s: %d of %d in use\n", id, p.ProviderID, p.General.InFlight, p.General.Capacity)
		}
	}
	// Output:
	// seoul-1 has vllm-0: 3 of 8 in use
	// busan-1 is gone: heartbeat_timeout
}

// A command, and its end.
func ExampleRepository_Command() {
	server := pretend()
	defer server.Close()
	repo, err := client.New(server.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer repo.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := repo.Command(ctx, client.Command{
		EdgeID: "seoul-1", Operation: "model.load", NodeID: "gpu-1", Parameters: map[string]any{"model": "qwen3-32b"}, Reason: "ticket 7",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.State)
	for o, err := range repo.Watch(ctx, client.WatchQuery{EdgeID: o.EdgeID, OperationID: o.OperationID}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(o.State)
	}
	// Output:
	// accepted
	// succeeded
}

// What happens, from now on. A lost connection is taken up again behind the last event.
func ExampleRepository_Follow() {
	server := pretend()
	defer server.Close()
	repo, err := client.New(server.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer repo.Close()
	for u, err := range repo.Follow(context.Background(), client.FollowQuery{}) {
		switch {
		case err != nil:
			log.Fatal(err)
		case u.Gap != nil:
			fmt.Println("events are missing:", u.Gap.Reason)
			continue
		}
		fmt.Println(*u.Event.EdgeID, u.Event.Kind)
		if u.Event.ID == "e5" {
			break
		}
	}
	// Output:
	// seoul-1 node_ready
	// events are missing: overwritten
	// seoul-1 command_succeeded
}

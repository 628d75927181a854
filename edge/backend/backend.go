package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// kind is what is known of one sort of backend. An empty path: it doesn't tell.
type kind struct {
	alive   string
	models  string
	readIDs func(io.Reader) ([]string, error)
	running string // the names of the two gauges on /metrics
	waiting string
	work    string // the name of a counter there that grows while it works, whoever it works for
	slots   string
}

var kinds = map[string]kind{
	"vllm": {alive: "/health", models: "/v1/models", readIDs: openAIModels,
		running: "vllm:num_requests_running", waiting: "vllm:num_requests_waiting", work: "vllm:generation_tokens_total"},
	"sglang": {alive: "/health", models: "/v1/models", readIDs: openAIModels,
		running: "sglang:num_running_reqs", waiting: "sglang:num_queue_reqs", work: "sglang:generation_tokens_total"},
	"llamacpp": {alive: "/health", models: "/v1/models", readIDs: openAIModels,
		running: "llamacpp:requests_processing", waiting: "llamacpp:requests_deferred", work: "llamacpp:n_decode_total", slots: "/props"},
	"tgi": {alive: "/health", models: "/info", readIDs: tgiModel,
		running: "tgi_batch_current_size", waiting: "tgi_queue_size", work: "tgi_request_success"},
	"ollama": {alive: "/api/version", models: "/api/tags", readIDs: ollamaModels},
	"openai": {alive: "/v1/models", models: "/v1/models", readIDs: openAIModels},
}

// Backend is one serving backend. It may be asked from several goroutines.
type Backend struct {
	kind   kind
	base   *url.URL
	client *http.Client
}

// New makes a Backend of a kind at an http or https URL; a path in it is put before every path asked. The client
// is used as it is, except that redirects are followed only on the same host.
func New(kindName, baseURL string, client *http.Client) (*Backend, error) {
	k, ok := kinds[kindName]
	if !ok {
		return nil, fmt.Errorf("%q is no kind of backend", kindName)
	}
	base, err := url.Parse(baseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the base URL is not an http or https URL")
	}
	own := *client
	own.CheckRedirect = sameHost
	return &Backend{kind: k, base: base, client: &own}, nil
}

// tellsLoad tells whether this kind of backend exports what runs and waits.
func (b *Backend) tellsLoad() bool { return b.kind.running != "" }

// TellsSlots tells whether this kind of backend exports how many requests it takes at once.
func (b *Backend) TellsSlots() bool { return b.kind.slots != "" }

// Alive returns nil when the backend answers that it serves.
func (b *Backend) Alive(ctx context.Context) error {
	return b.get(ctx, b.kind.alive, maxJSONBytes, func(body io.Reader) error {
		_, err := io.Copy(io.Discard, body) // read to the end, so that the connection is kept
		return err
	})
}

// Models returns the ids of the models served, in the backend's order, each once, at most 256 of them.
func (b *Backend) Models(ctx context.Context) (ids []string, err error) {
	err = b.get(ctx, b.kind.models, maxJSONBytes, func(body io.Reader) error {
		ids, err = b.kind.readIDs(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tidyIDs(ids), nil
}

// Load is what a backend is doing now, in requests.
type Load struct {
	Running uint32
	Waiting uint32
	// Work is a counter, in a unit of the backend's own, that grows while it works and restarts with the backend.
	Work float64
	// Exported: the backend exports these numbers. Otherwise they are 0 and mean nothing.
	Exported bool
}

// Load returns zeros if the backend exports nothing, and an error if it should have and didn't.
func (b *Backend) Load(ctx context.Context) (Load, error) {
	if !b.tellsLoad() {
		return Load{}, nil
	}
	var sums map[string]float64
	err := b.get(ctx, "/metrics", maxMetricsBytes, func(body io.Reader) (err error) {
		sums, err = sumMetrics(body, b.kind.running, b.kind.waiting, b.kind.work)
		return err
	})
	if switchedOff(err) {
		return Load{}, nil
	}
	if err != nil {
		return Load{}, err
	}
	running, exported := sums[b.kind.running]
	return Load{Running: count(running), Waiting: count(sums[b.kind.waiting]), Work: sums[b.kind.work], Exported: exported}, nil
}

// Slots returns how many requests the backend takes at once, 0 if it doesn't export that.
func (b *Backend) Slots(ctx context.Context) (uint32, error) {
	if !b.TellsSlots() {
		return 0, nil
	}
	var props struct {
		TotalSlots *float64 `json:"total_slots"`
	}
	err := b.get(ctx, b.kind.slots, maxJSONBytes, func(body io.Reader) error {
		if err := json.NewDecoder(body).Decode(&props); err != nil || props.TotalSlots != nil {
			return err
		}
		return ErrUnreadable
	})
	if switchedOff(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return count(*props.TotalSlots), nil
}

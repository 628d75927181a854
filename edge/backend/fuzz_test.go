package backend

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} 2\n"))
	f.Add([]byte("vllm:num_requests_running{a=\"\\\"}\"} NaN 12\nvllm:num_requests_running -1e400"))
	f.Add([]byte("# TYPE vllm:num_requests_running histogram\nvllm:num_requests_running{le=\"1\"} 1\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		sums, err := sumMetrics(bytes.NewReader(page), "vllm:num_requests_running")
		if v := sums["vllm:num_requests_running"]; err == nil && !(v >= 0) {
			t.Errorf("the sum is %v", v)
		}
	})
}

func FuzzModels(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"m"},{"id":"\u0000\ud800"}]}`))
	f.Add([]byte(`{"models":[{"name":"a:1b"}],"model_id":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, name := range []string{"openai", "ollama", "tgi"} {
			ids, _ := kinds[name].readIDs(bytes.NewReader(body))
			tidy := tidyIDs(ids)
			if len(tidy) > maxModels {
				t.Errorf("%s: %d models", name, len(tidy))
			}
			for _, id := range tidy {
				if id == "" || len(id) > maxModelIDBytes || !utf8.ValidString(id) {
					t.Errorf("%s: id %q", name, id)
				}
			}
		}
	})
}

func BenchmarkMetrics(b *testing.B) {
	// As long as an engine's page: some thousand lines of histograms around the two that matter.
	var page bytes.Buffer
	for range 100 {
		for range 20 {
			page.WriteString("vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.001\",model_name=\"m-small\"} 12.0\n")
		}
	}
	page.WriteString("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2.0\nvllm:num_requests_waiting{engine=\"0\"} 1.0\n")
	b.SetBytes(int64(page.Len()))
	for b.Loop() {
		if _, err := sumMetrics(bytes.NewReader(page.Bytes()), "vllm:num_requests_running", "vllm:num_requests_waiting"); err != nil {
			b.Fatal(err)
		}
	}
}

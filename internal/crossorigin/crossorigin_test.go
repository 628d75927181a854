package crossorigin

import "testing"

func TestIsLoopbackName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost.": true, "localhost.:80": true, "LOCALHOST:80": true, "localhost:18080": true, "127.0.0.1": true, "127.0.0.1:18080": true,
		"127.9.9.9:1": true, "[::1]": true, "[::1]:18080": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"": false, "evil.example": false, "evil.example:18080": false, "localhost.evil.example": false, "evillocalhost": false,
		"127.0.0.1.evil.example": false, "0.0.0.0": false, "10.0.0.1:18080": false, "[::2]:1": false, ":18080": false, "localhost:1:2": false,
	} {
		if got := IsLoopbackName(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestTLS(t *testing.T) {
	var posts atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		answerJSON(w, 200, "application/json", `{"edge_id":"seoul-1"}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	trusted := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	trusted.RootCAs.AddCert(server.Certificate())
	if e, err := repositoryOf(t, server.URL, Options{TLS: trusted}).Edge(within(t), "seoul-1"); err != nil || e.EdgeID != "seoul-1" {
		t.Errorf("%v, %v", e, err)
	}
	stranger := repositoryOf(t, server.URL, Options{Token: "secret"})
	_, err := stranger.Command(within(t), Command{EdgeID: "seoul-1", Operation: "x"})
	var unknown *tls.CertificateVerificationError
	if !errors.As(err, &unknown) || errors.As(err, new(*Uncertain)) || posts.Load() != 0 {
		t.Errorf("a server that nobody vouches for: %v; %d posts", err, posts.Load())
	}
	for _, err = range stranger.Watch(within(t), WatchQuery{EdgeID: "seoul-1", OperationID: "x"}) {
		if !errors.As(err, &unknown) {
			t.Errorf("to watch it: %v", err)
		}
	}
	for _, err = range stranger.Follow(within(t), FollowQuery{}) {
		if !errors.As(err, &unknown) {
			t.Errorf("to follow it: %v", err)
		}
	}
	_, err = DialWire(within(t), "wss"+strings.TrimPrefix(server.URL, "https"), WireOptions{Token: "secret"})
	if !errors.As(err, &unknown) {
		t.Errorf("and over the wire: %v", err)
	}
	_, err = DialWire(within(t), "wss"+strings.TrimPrefix(server.URL, "https"), WireOptions{TLS: trusted})
	if !errors.As(err, new(*UpgradeRefused)) {
		t.Errorf("a server that is trusted and has no Client wire: %v", err)
	}
}

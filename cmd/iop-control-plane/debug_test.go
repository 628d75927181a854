package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// contend has one goroutine wait for another's lock.
func contend() {
	var mu sync.Mutex
	mu.Lock()
	done := make(chan struct{})
	go func() {
		mu.Lock() // is waited for
		defer mu.Unlock()
		close(done)
	}()
	time.Sleep(5 * time.Millisecond) // until it waits: nothing tells
	mu.Unlock()
	<-done
}

func TestContentionIsNotedWhileItIsAskedFor(t *testing.T) {
	for _, name := range []string{"mutex", "block"} {
		answer := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			r := httptest.NewRecorder()
			debugHandler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/debug/pprof/"+name+"?seconds=1", nil))
			answer <- r
		}()
		var r *httptest.ResponseRecorder
		for r == nil {
			contend()
			select {
			case r = <-answer:
			default:
			}
		}
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatalf("%s: status %d, %v", name, r.Code, err)
		}
		profile, err := io.ReadAll(unzipped)
		if err != nil || !bytes.Contains(profile, []byte(".contend")) {
			t.Errorf("%s: who waits isn't in the profile (%v)", name, err)
		}
	}
	if n := runtime.SetMutexProfileFraction(-1); n != 0 {
		t.Errorf("contention is still noted, one of %d", n)
	}
}

// Who asks while somebody else does neither ends the other's profile nor leaves it on.
func TestContentionOfTwoAskers(t *testing.T) {
	var rates []int
	c := &contention{name: "mutex", note: func(rate int) { rates = append(rates, rate) }}
	for _, more := range []int{1, 1, -1, -1, 1, -1} {
		c.asked(more)
	}
	if want := []int{1, 1, 1, 0, 1, 0}; !slices.Equal(rates, want) {
		t.Errorf("noted at %v, want %v", rates, want)
	}
}

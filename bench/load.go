package main

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// load asks for statuses in a closed loop and gives the server's CPU a round trip and the round trips a second.
func (s *server) load(set settings, requests int) (cpuMicros, rate float64, err error) {
	before, err := s.Process().Usage()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	var next atomic.Int64
	var g errgroup.Group
	for range set.callers {
		g.Go(func() error {
			client := &http.Client{Transport: &http.Transport{}, Timeout: own.Timeout}
			defer client.CloseIdleConnections()
			for {
				n := int(next.Add(1)) - 1
				if n >= requests {
					return nil
				}
				if err := status(client, s.http+"/edges/"+edgeID(n%set.cpuEdges)+"/status"); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return 0, 0, err
	}
	took := time.Since(began)
	after, err := s.Process().Usage()
	n := float64(requests)
	return float64((after.CPU - before.CPU).Microseconds()) / n, n / took.Seconds(), err
}

func status(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

package actors

import "sync/atomic"

// tally counts by a word out of a list that is known beforehand. A word that isn't in it counts under the zero word, so that
// no peer can make a new one. It is not a Prometheus vector, nor are durations: actors know no front, and whoever shows metrics
// reads both at each scrape.
type tally[K ~string] map[K]*atomic.Int64

func newTally[K ~string](words ...K) tally[K] {
	t := tally[K]{"": {}}
	for _, w := range words {
		t[w] = &atomic.Int64{}
	}
	return t
}

func (t tally[K]) add(word K, n int64) {
	counter := t[word]
	if counter == nil {
		counter = t[""]
	}
	counter.Add(n)
}

// read gives the counts; those of words that weren't expected under "other", if there are any.
func (t tally[K]) read() map[K]int64 {
	counts := make(map[K]int64, len(t))
	for word, counter := range t {
		switch n := counter.Load(); {
		case word != "":
			counts[word] = n
		case n != 0:
			counts["other"] = n
		}
	}
	return counts
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// listTime is the first page of /edges, one call at a time.
var listTime = figure{
	name: "List", turns: someTurns,
	per: []unit{
		{timeEach, "the list's first page of 100, ms", toMillis, ofAll},
		{cpuEach, "CPU a first page of 100, ms", toMillis, ofAll},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		const calls = 50
		values, err := s.inTurn(ctx, calls, "/edges", func(answer []byte) error {
			var list struct{ Total int }
			if err := json.Unmarshal(answer, &list); err != nil || list.Total != s.edges() {
				return fmt.Errorf("the list counts %d Edges, not %d (%v)", list.Total, s.edges(), err)
			}
			return nil
		})
		return calls, values, err
	},
}

// pageEdges are the most that a page has.
const pageEdges = 1000

// listAllTime is every page of /edges with 1,000 Edges each, one after the other.
var listAllTime = figure{
	name: "ListAll", turns: someTurns,
	per: []unit{
		{timeEach, "the whole list in pages of 1,000, ms", toMillis, ofAll},
		{cpuEach, "CPU a whole list, ms", toMillis, ofAll},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		const walks = 2
		cpu, took, err := s.spent(func() error {
			for range walks {
				if err := s.walk(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		return walks, []float64{each(took, walks), each(cpu, walks)}, err
	},
}

// walk reads all pages. It looks for no more in them than it needs: what the caller does takes CPU from the server.
func (s *rig) walk(ctx context.Context) error {
	listed, cursor := 0, ""
	for {
		page, err := call(ctx, beside, http.MethodGet, fmt.Sprintf("%s/edges?limit=%d&cursor=%s", s.http, pageEdges, url.QueryEscape(cursor)), "")
		if err != nil {
			return err
		}
		listed += bytes.Count(page, []byte(`"edge_id":`))
		if cursor = nextCursor(page); cursor == "" {
			break
		}
	}
	if listed != s.edges() {
		return fmt.Errorf("the pages list %d Edges, not %d", listed, s.edges())
	}
	return nil
}

// nextCursor is the last member of a page; empty where it is null.
func nextCursor(page []byte) string {
	_, rest, _ := bytes.Cut(page[bytes.LastIndexByte(page, ']')+1:], []byte(`"next_cursor":"`))
	cursor, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(cursor)
}

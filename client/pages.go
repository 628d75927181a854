package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
)

// defaultPage is how many a page has where no limit is given.
const defaultPage = 100

// pageOf asks for a page, and for half of it as often as the answer is too large. limit is then what fitted.
func pageOf[V any](ctx context.Context, r *Repository, limit *int, ask func() request) (*V, error) {
	for {
		v, err := answer[V](ctx, r, ask())
		if !errors.As(err, new(*TooLarge)) || *limit == 1 {
			return v, err
		}
		*limit = cmp.Or(*limit, defaultPage) / 2
	}
}

// page is one of a list's.
type page[T any] interface {
	items() []T
	next() *string // the cursor of the next page; nil on the last
}

// all gives a list's items, page by page, as they are asked for. An error is the last thing that it gives. A cursor that
// leads to itself is an end: a list that never ends would never end a program.
func all[T any, P page[T]](ctx context.Context, cursor string, ask func(ctx context.Context, cursor string) (P, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := ask(ctx, cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.items() {
				if !yield(item, nil) {
					return
				}
			}
			next := p.next()
			if next == nil || *next == cursor {
				return
			}
			cursor = *next
		}
	}
}

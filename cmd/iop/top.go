package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) topCommand() *cobra.Command {
	var once bool
	every := defaultLook
	c := &cobra.Command{
		Use:   "top",
		Short: "Show a live view of the fleet",
		Long: `Shows the fleet's totals, its busiest Edges, those in trouble and new events, until q or Ctrl-C. It asks only Edges that
have sent no snapshot yet, since an Edge sends changes by itself. Each look fetches at most a thousand Edges, so a larger
fleet takes several.`,
		Args: cobra.NoArgs,
		Example: `  iop top
  iop top --once`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < time.Second {
				return usage(cmd, "--every %v is under 1s", every)
			}
			if !a.format.isTable() {
				return usage(cmd, "top is for people; -o %s goes with iop fleet summary and iop fleet status", a.format)
			}
			if !once && !a.looks.terminal {
				return usage(cmd, "top needs a terminal; --once draws one picture without")
			}
			repo, err := a.repository()
			if err != nil {
				return err
			}
			if once {
				return a.topOnce(cmd.Context(), repo)
			}
			return a.topLive(cmd.Context(), repo, every)
		},
	}
	c.Flags().DurationVar(&every, "every", every, "how often to look, at least 1s")
	c.Flags().BoolVar(&once, "once", false, "print one picture to stdout and exit")
	return c
}

// Size of a picture where there is no terminal to fit.
const (
	onceWidth  = 110
	onceHeight = 36
)

func (a *app) topOnce(ctx context.Context, repo *client.Repository) error {
	m := newTopModel(a)
	g := topGatherer{repo: repo}
	for whole := false; !whole; {
		look := g.look(ctx)
		if look.err != nil {
			return look.err
		}
		m.take(look)
		whole = look.last
	}
	events, err := repo.Events(ctx, client.EventQuery{Limit: mostTail})
	if err != nil {
		return err
	}
	for _, e := range events.Events {
		m.event(client.Update{Event: e})
	}
	width := onceWidth
	if a.looks.width > 0 {
		width = a.looks.width
	}
	p := painter{width: width, height: onceHeight, color: a.looks.color, still: true}
	for _, line := range p.render(m.picture()) {
		if _, err := fmt.Fprintln(a.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

const (
	// updatesWaiting bounds what the stream is ahead of the screen; when it is full the stream waits, and a Control Plane that
	// has to wait for long ends it with a gap.
	updatesWaiting = 256
	// redraw is how often the screen is drawn at most.
	redraw = 250 * time.Millisecond
)

// topLive shows the screen until q, Ctrl-C, a signal, or an error that stays.
func (a *app) topLive(ctx context.Context, repo *client.Repository, every time.Duration) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	t := &topLoop{model: newTopModel(a), looks: make(chan topLook), updates: make(chan client.Update, updatesWaiting),
		changes: make(chan error), failed: make(chan error, 3)}
	s, err := openScreen(a.stdin, a.stdout)
	if err != nil {
		cancel()
		return err
	}
	t.painter.color, t.screen = a.looks.color, s
	defer func() { // also when it panics
		s.close()
		cancel()
	}()
	t.start(func() error { return (&topGatherer{repo: repo}).run(ctx, every, t.looks) })
	t.start(func() error { return t.follow(ctx, repo) })
	keys := make(chan byte)
	if s.hasKeys {
		t.start(func() error { return readKeys(ctx, a.stdin, keys) })
	}
	return t.run(ctx, keys)
}

// topLoop is the screen's one goroutine: it alone has the model and draws.
type topLoop struct {
	model   *topModel
	screen  *screen
	painter painter

	looks   chan topLook
	updates chan client.Update
	changes chan error // of the stream: why there is none, or nil
	failed  chan error // a goroutine's end that wasn't asked for
}

// start runs f beside the screen. Its panic comes up in the screen's goroutine, so that the terminal is put right first.
func (t *topLoop) start(f func() error) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				t.failed <- &panicked{p, debug.Stack()}
			}
		}()
		if err := f(); err != nil {
			t.failed <- err
		}
	}()
}

type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n\n%s", p.value, p.stack) }

func (t *topLoop) follow(ctx context.Context, repo *client.Repository) error {
	changed := func(err error, _ time.Duration) {
		select {
		case t.changes <- err:
		case <-ctx.Done():
		}
	}
	live := client.FollowQuery{}
	if recent, err := repo.Events(ctx, client.EventQuery{Limit: mostTail}); err == nil {
		for _, e := range recent.Events {
			t.tell(ctx, client.Update{Event: e})
		}
		live = behind(recent)
	} // else the stream begins now, and the look tells what is wrong
	live.Changed = changed
	for u, err := range repo.Follow(ctx, live) {
		if err != nil {
			return err
		}
		t.tell(ctx, u)
	}
	return nil
}

func (t *topLoop) tell(ctx context.Context, u client.Update) {
	select {
	case t.updates <- u:
	case <-ctx.Done():
	}
}

func (t *topLoop) run(ctx context.Context, keys <-chan byte) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	draw := time.NewTicker(redraw)
	defer draw.Stop()
	t.draw(true)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-t.failed:
			if p := (*panicked)(nil); errors.As(err, &p) {
				panic(p.Error())
			}
			return err
		case key := <-keys:
			switch key {
			case 'q', 'Q':
				return nil
			case ctrlC:
				return &interruptedError{}
			}
		case look := <-t.looks:
			t.model.take(look)
		case u := <-t.updates:
			t.model.event(u)
		case err := <-t.changes:
			t.model.lostErr = err
		case <-resized:
			t.draw(true)
		case <-draw.C:
			t.draw(false)
		}
	}
}

// draw shows the model. What hasn't changed isn't written again, unless the terminal's size may have.
func (t *topLoop) draw(whole bool) {
	t.painter.width, t.painter.height = t.screen.size()
	t.screen.show(t.painter.render(t.model.picture()), whole)
}

const ctrlC = 3 // as it comes from a terminal in raw mode

// interruptedError is Ctrl-C as a key.
type interruptedError struct{}

func (*interruptedError) Error() string { return "interrupted" }

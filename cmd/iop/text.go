package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"iop/cmd/internal/terminal"
)

// unknown is shown where nothing is known. It is never a zero.
const unknown = "-"

// clean makes a text from elsewhere safe to show.
func clean(s string) string { return terminal.Clean(s) }

func textOr(s *string) string {
	if s == nil || *s == "" {
		return unknown
	}
	return clean(*s)
}

// pairs is a map as k=v, in order.
func pairs(m map[string]string) string {
	if len(m) == 0 {
		return unknown
	}
	all := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, clean(k)+"="+clean(m[k]))
	}
	return strings.Join(all, ",")
}

func list(all []string) string {
	if len(all) == 0 {
		return unknown
	}
	return clean(strings.Join(all, ","))
}

// when is how long ago something was; with --absolute, and in all formats but the plain table, it is the moment itself.
func (a *app) when(t *time.Time) string {
	switch {
	case t == nil:
		return unknown
	case a.inUTC():
		return moment(*t)
	}
	return ago(a.now().Sub(*t))
}

func (a *app) inUTC() bool { return a.flags.absolute || a.format != plainTable }

// clock is when something in a stream was: the time of day here, with the date if that isn't today's; or as when has it.
func (a *app) clock(t time.Time) string {
	if a.inUTC() {
		return moment(t)
	}
	t = t.Local()
	if t.Format(time.DateOnly) == a.now().Local().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// ago says how long ago something was. What lies ahead by a moment is now: clocks differ.
func ago(d time.Duration) string {
	switch {
	case d < -time.Second:
		return "in " + span(-d)
	case d < time.Second:
		return "now"
	}
	return span(d) + " ago"
}

// span is a duration in the one or two units that matter.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(int(d.Minutes()), "m", int(d.Seconds())%60, "s", 10)
	case d < day:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "m", 10)
	}
	return twoUnits(int(d/day), "d", int(d.Hours())%24, "h", 10)
}

// twoUnits leaves the smaller unit out where it is 0 or the larger one is many.
func twoUnits(n int, unit string, m int, smaller string, many int) string {
	if m == 0 || n >= many {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s%d%s", n, unit, m, smaller)
}

// millis is an age or a difference that may not be known.
func millis(ms *int64) string {
	if ms == nil {
		return unknown
	}
	d := time.Duration(*ms) * time.Millisecond
	if d < 0 {
		return "-" + span(-d)
	}
	return span(d)
}

// count is "1 Edge" or "2 Edges".
func count[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

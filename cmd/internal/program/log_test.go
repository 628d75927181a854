package program

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"iop/configs"
)

// Both kinds of logger write the same line, and only what their level lets through, also after it was changed.
func TestLoggers(t *testing.T) {
	t.Cleanup(func() { SetLogLevel("info") })
	var first, second bytes.Buffer
	log, w := NewLogger(configs.Log{Level: "warn", Format: "auto"}, &first)
	log.Info().Msg("not said")
	log.Warn().Str("edge_id", "a").Msg("said")
	SetLogLevel("info")
	log.Info().Msg("said now")
	w.Close()
	slogger, w := NewSlog(configs.Log{Level: "warn", Format: "auto"}, &second)
	slogger.Info("not said")
	slogger.Warn("said", "edge_id", "a")
	SetLogLevel("info")
	slogger.Info("said now")
	w.Close()
	for _, out := range []*bytes.Buffer{&first, &second} {
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"level":"warn","edge_id":"a","time":"`) || !strings.HasSuffix(lines[0], `","message":"said"}`) ||
			!strings.Contains(lines[1], "said now") {
			t.Errorf("it wrote %q", out.String())
		}
	}
}

func TestAConsoleThatIsNoTerminalHasNoColours(t *testing.T) {
	var out bytes.Buffer
	log, w := NewLogger(configs.Log{Level: "info", Format: "console"}, &out)
	log.Warn().Msg("said")
	w.Close()
	if text := out.String(); !strings.HasSuffix(text, " WRN said\n") || strings.Contains(text, "\x1b") {
		t.Errorf("it wrote %q", text)
	}
}

// What others said is in the fields of a line.
func TestAConsoleIsNotSteeredByAField(t *testing.T) {
	const foul = "\u009b2J\x1b[2J\u202e"
	var out bytes.Buffer
	log, w := NewSlog(configs.Log{Level: "info", Format: "console"}, &out)
	log.Info("said", "list", []string{foul}, "object", map[string]string{foul: foul}, "text", foul, "why", errors.New(foul), "n", 3, "on", true)
	w.Close()
	text := out.String()
	if strings.ContainsAny(text, "\u009b\x1b\u202e") || !strings.Contains(text, " n=3 ") || !strings.Contains(text, " on=true ") {
		t.Errorf("it wrote %q", text)
	}
}

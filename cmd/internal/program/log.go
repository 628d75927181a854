package program

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"iop/cmd/internal/terminal"
	"iop/configs"
)

func init() { zerolog.TimeFieldFormat = time.RFC3339Nano } // before any goroutine logs: zerolog reads it without a lock

// NewLogger logs to out, which is stderr: for people on a terminal, as JSON elsewhere, unless the configuration says which.
// The LogWriter must be closed at the end.
func NewLogger(l configs.Log, out io.Writer) (zerolog.Logger, *LogWriter) {
	signal.Ignore(syscall.SIGPIPE) // who reads the log may go away: Go would end the process at its next line
	SetLogLevel(l.Level)
	seen := IsTerminal(out)
	if l.Format == "console" || l.Format == "auto" && seen {
		out = zerolog.ConsoleWriter{
			Out: out, TimeFormat: time.TimeOnly, NoColor: !seen || os.Getenv("NO_COLOR") != "", FormatFieldValue: cleanValue,
		}
	}
	w := newLogWriter(out)
	return zerolog.New(w).With().Timestamp().Logger(), w
}

// cleanValue is the value of a field on a console, which quotes one text and not what is in a list of them.
func cleanValue(value any) string { return terminal.Clean(fmt.Sprintf("%s", value)) }

// NewSlog is NewLogger for what logs with slog.
func NewSlog(l configs.Log, out io.Writer) (*slog.Logger, *LogWriter) {
	z, w := NewLogger(l, out)
	return slog.New(zerolog.NewSlogHandler(z)), w
}

// SetLogLevel is for the whole process, so that a reload changes what every logger made from the first one writes.
func SetLogLevel(name string) {
	level, err := zerolog.ParseLevel(name)
	if err != nil {
		level = zerolog.InfoLevel // configs lets no other word through
	}
	zerolog.SetGlobalLevel(level)
}

// IsTerminal tells whether what is written to out is seen at once, by somebody.
func IsTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

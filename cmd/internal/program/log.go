package program

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"

	"iop/configs"
)

// NewLogger writes lines for people on a terminal and JSON elsewhere, unless the format is said.
func NewLogger(l configs.Log, out io.Writer) *slog.Logger {
	if l.Format == "console" || l.Format == "auto" && isTerminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !isTerminal(out)}
	}
	level, err := zerolog.ParseLevel(l.Level)
	if err != nil {
		level = zerolog.InfoLevel // configs lets no other word through
	}
	return slog.New(zerolog.NewSlogHandler(zerolog.New(out).Level(level).With().Timestamp().Logger()))
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

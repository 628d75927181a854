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

// NewLogger writes lines for people on a terminal and JSON elsewhere, unless the format is said. closeLog writes what waits to
// be written, and must be called at the end.
func NewLogger(l configs.Log, out io.Writer) (log *slog.Logger, closeLog func()) {
	if l.Format == "console" || l.Format == "auto" && isTerminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !isTerminal(out)}
	}
	level, err := zerolog.ParseLevel(l.Level)
	if err != nil {
		level = zerolog.InfoLevel // configs lets no other word through
	}
	w := NewLogWriter(out)
	return slog.New(zerolog.NewSlogHandler(zerolog.New(w).Level(level).With().Timestamp().Logger())), w.Close
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

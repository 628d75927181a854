package main

import (
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"

	"iop/cmd/internal/program"
	"iop/configs"
)

// newLogger logs to stderr: for people on a terminal, as JSON elsewhere, unless the configuration says which. closeLog writes
// what waits to be written.
func newLogger(cfg configs.Log, stderr io.Writer) (log zerolog.Logger, closeLog func(), err error) {
	zerolog.TimeFieldFormat = time.RFC3339Nano
	if err := setLevel(cfg.Level); err != nil {
		return zerolog.Nop(), nil, err
	}
	out := stderr
	file, isFile := stderr.(*os.File)
	terminal := isFile && isatty.IsTerminal(file.Fd())
	if cfg.Format == "console" || cfg.Format == "auto" && terminal {
		out = zerolog.ConsoleWriter{Out: stderr, TimeFormat: time.TimeOnly, NoColor: !terminal || os.Getenv("NO_COLOR") != ""}
	}
	w := program.NewLogWriter(out)
	return zerolog.New(w).With().Timestamp().Logger(), w.Close, nil
}

// setLevel is global, so that a reload changes what every logger made from the first one writes.
func setLevel(name string) error {
	level, err := zerolog.ParseLevel(name)
	if err == nil {
		zerolog.SetGlobalLevel(level)
	}
	return err
}

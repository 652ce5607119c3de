package catalog_test

import (
	"io"
	"log/slog"
)

func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

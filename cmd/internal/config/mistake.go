package config

import "github.com/etui-run/etui/phrase"

// UsageError is a mistake in how etui was called or set up.
type UsageError struct{ Err error }

// Error returns the text of the mistake.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake itself.
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a [UsageError]. Its format is a phrase of the catalogue.
func Usagef(english string, args ...any) error { return UsageError{phrase.Errorf(english, args...)} }

package config

import "fmt"

// UsageError is a mistake in how etui was called or set up.
type UsageError struct{ Err error }

// Error returns the text of the mistake.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake itself.
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

package model

import "errors"

// WindowOf returns the window that an error of kind [ErrTooLong] states, in tokens; 0 when
// it states none. Of the errors of several models it is the largest one: a request that
// fits it is answered by one of them.
func WindowOf(err error) (window int) {
	if e, ok := err.(*Error); ok && errors.Is(e.Kind, ErrTooLong) { //nolint:errorlint // each error of the tree is looked at
		return e.Window
	}
	switch err := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		return WindowOf(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			window = max(window, WindowOf(one))
		}
	}
	return window
}

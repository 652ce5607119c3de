package body

import "net/http"

// Answered is a response that knows its status; 0 until it has one.
type Answered struct {
	http.ResponseWriter
	Status int
}

// WriteHeader implements [http.ResponseWriter].
func (a *Answered) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (a *Answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

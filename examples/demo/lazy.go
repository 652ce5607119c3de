package demo

import (
	"net/http"
	"sync"
)

// Lazy returns [Handler] with the zero Config, created on the first request: just
// listing the tools does not load the company.
func Lazy() http.Handler {
	service := sync.OnceValue(func() http.Handler { return Handler(Config{}) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { service().ServeHTTP(w, r) })
}

package demo

import (
	"net/http"
	"sync"
)

// Lazy is [Handler] with the zero Config, made when it is first asked: who only
// looks at the tools does not wait for the company.
func Lazy() http.Handler {
	service := sync.OnceValue(func() http.Handler { return Handler(Config{}) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { service().ServeHTTP(w, r) })
}

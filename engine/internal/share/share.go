// Package share divides places among those who want them, so that nobody uses up the places of the
// others.
package share

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Places are places that are divided. They are safe for concurrent use.
type Places struct {
	mu   sync.Mutex
	held map[string]int           // places, by share
	pace map[string]*rate.Limiter // of the shares in use
}

// Share is a part of the places.
type Share struct {
	Name   string
	Says   string // whose it is, for people
	Places int
	Every  time.Duration // between two messages; 0 means that the pace is free
	Busy   error         // when it is used up
	Full   func(bool)    // if not nil, called when it is used up, and when half of it is free again
}

// Take takes a place of each share until leave is called, or says which one is used up.
func (s *Places) Take(list []Share) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held, s.pace = map[string]int{}, map[string]*rate.Limiter{}
	}
	for _, one := range list {
		if s.held[one.Name] >= one.Places {
			if one.Full != nil {
				one.Full(true)
			}
			return nil, fmt.Errorf("%w: there are too many %s; try again in a moment", one.Busy, one.Says)
		}
	}
	for _, one := range list {
		if one.Every == 0 {
			continue
		}
		pace := s.pace[one.Name]
		if pace == nil {
			pace = rate.NewLimiter(rate.Every(one.Every), one.Places)
			s.pace[one.Name] = pace
		}
		if !pace.Allow() {
			return nil, fmt.Errorf("%w: too many %s came at once; try again in a moment", one.Busy, one.Says)
		}
	}
	for _, one := range list {
		s.held[one.Name]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range list {
			s.held[one.Name]--
			if one.Full != nil && s.held[one.Name] <= one.Places/2 {
				one.Full(false)
			}
			if s.held[one.Name] > 0 {
				continue
			}
			delete(s.held, one.Name)
			if pace := s.pace[one.Name]; pace != nil && pace.Tokens() >= float64(one.Places) {
				delete(s.pace, one.Name) // a new one would be as full
			}
		}
	}, nil
}

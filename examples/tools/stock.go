package main

//go:generate go tool etui tools gen

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Stock is what lies on the shelves of a workshop.
type Stock struct {
	mu    sync.Mutex
	parts map[string]map[Shelf]int
}

// Shelf is a place for parts. Its constants are the values that a model may give.
type Shelf string

// The shelves.
const (
	Front Shelf = "front"
	Back  Shelf = "back"
	Attic Shelf = "attic"
)

type findInput struct {
	// Part is a name or a part of one.
	Part string `json:"part" minLength:"1" example:"screw M4"`
	// Shelf, when given, is the only one that is looked at.
	Shelf *Shelf `json:"shelf"`
	Limit int    `json:"limit" default:"10" minimum:"1" maximum:"100"` // most that are listed
}

// Lot is a number of parts on a shelf.
type Lot struct {
	Part   string `json:"part"`
	Shelf  Shelf  `json:"shelf"`
	Amount int    `json:"amount"`
}

// findParts tells how many parts of a kind there are, and on which shelf.
//
//etui:tool groups=stock risk=read
//etui:zh 查询零件的数量和所在货架。
//etui:alias inventory, how many are left, 库存
//etui:example how many M4 screws do we have?
func (s *Stock) findParts(_ context.Context, in findInput) ([]Lot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lots := []Lot{}
	for part, shelves := range s.parts {
		if !strings.Contains(part, in.Part) {
			continue
		}
		for shelf, amount := range shelves {
			if (in.Shelf == nil || *in.Shelf == shelf) && len(lots) < in.Limit {
				lots = append(lots, Lot{part, shelf, amount})
			}
		}
	}
	return lots, nil
}

type moveInput struct {
	Moves []Lot `json:"moves" minItems:"1" maxItems:"50"` // what to move, and where to
	From  Shelf `json:"from"`
}

// moveParts moves parts to other shelves: all of them, or none.
//
//etui:tool groups=stock risk=write
//etui:zh 把零件移到其他货架。
func (s *Stock) moveParts(in moveInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range in.Moves {
		// What an error says, the model reads: it tells what to do.
		if have := s.parts[m.Part][in.From]; have < m.Amount {
			return fmt.Errorf("there are only %d of %s on shelf %s; find_parts tells where more are", have, m.Part, in.From)
		}
	}
	for _, m := range in.Moves {
		s.parts[m.Part][in.From] -= m.Amount
		s.parts[m.Part][m.Shelf] += m.Amount
	}
	return nil
}

package main

var (
	oldChanges           map[uint32]change
	oldOpens, oldRemoves map[uint32]int
	oldLinks             map[uint32][2]int
	oldObserving         map[uint32]func(h *helper, listener int, q *question) error
)

package main

var oldChanges map[uint32]change

package tool

// Replay says how a call may be repeated after a crash.
type Replay string

// The ways.
const (
	Safe  Replay = "safe"
	Keyed Replay = "keyed"
	Never Replay = "never"
)

// Replays lists every way.
func Replays() []Replay { return []Replay{Safe, Keyed, Never} }

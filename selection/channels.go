package selection

import "slices"

// placeTools finds out which tools exist only on some channels. Few lists of channels are
// different, so that a question compares its channel with each of them once.
func (s *Selector) placeTools() {
	s.channels = [][]string{nil}
	for e := range s.catalog.All() {
		list := e.Definition.Channels
		if len(list) == 0 {
			continue
		}
		if s.places == nil {
			s.places = make([]int32, s.catalog.Len())
		}
		at := slices.IndexFunc(s.channels, func(other []string) bool { return slices.Equal(other, list) })
		if at < 0 {
			at, s.channels = len(s.channels), append(s.channels, list)
		}
		s.places[e.Position()] = int32(at)
	}
}

// away returns, by list of channels, whether its tools do not exist on a channel; nil when
// all tools exist everywhere.
func (s *Selector) away(channel string) []bool {
	if s.places == nil {
		return nil
	}
	away := make([]bool, len(s.channels))
	for i, list := range s.channels[1:] {
		away[i+1] = !slices.Contains(list, channel)
	}
	return away
}

package memory

import (
	"os"
	"path/filepath"
	"sync"
)

// guide is a guide as of a version of its file.
type guide struct {
	Guide
	stamp stamp
}

// guides is the last guide that was read.
type guides struct {
	mu   sync.Mutex
	last guide
}

// Guide returns the name of the file that guides the agent, if there is one.
func (s *Store) Guide() string {
	g, _ := s.guide() // turns say what is wrong
	return g.File
}

// guide reads the first file of [Config.Guides] that exists, if it has changed.
func (s *Store) guide() (guide, error) {
	if s == nil || len(s.config.Guides) == 0 || s.config.Workspace == "" {
		return guide{}, nil
	}
	s.guides.mu.Lock()
	defer s.guides.mu.Unlock()
	root, err := os.OpenRoot(s.config.Workspace)
	if err != nil { // there is no workspace
		return guide{}, nil
	}
	defer root.Close()
	var still []func() bool
	var now guide
	for _, name := range s.config.Guides {
		if s.config.Steady != nil {
			still = append(still, s.config.Steady(filepath.Join(s.config.Workspace, name)))
		}
		if now.stamp = look(root, name); now.stamp.size >= 0 {
			now.File = name
			break
		}
	}
	if now.stamp == s.guides.last.stamp {
		now = s.guides.last
	} else if now.Text, err = read(root, now.stamp); err != nil {
		return guide{}, err
	}
	for _, still := range still {
		if !still() {
			return s.guides.last, nil
		}
	}
	s.guides.last = now
	return now, nil
}

// Package examples holds the skills that show how skills are made.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed skills
var files embed.FS

// Skills returns the folder of examples.
func Skills() fs.FS {
	skills, err := fs.Sub(files, "skills")
	if err != nil {
		panic("examples: " + err.Error()) // the name above is no path
	}
	return skills
}

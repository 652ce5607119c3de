package toolgen

import (
	"golang.org/x/tools/go/packages"
)

// GeneratePackage makes the tools of a loaded package.
func GeneratePackage(p *packages.Package) (Package, error) {
	g := &generator{pkg: p}
	made, err := g.generate()
	if err == nil {
		err = join(g.problems)
	}
	return made, err
}

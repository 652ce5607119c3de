package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/etui-run/etui/scan"
)

// Offer is what an installation would write, for a person to look at before.
type Offer struct {
	Name     string `json:"name"`
	Registry string `json:"registry"`
	Location string `json:"location,omitempty"`
	Version  string `json:"version,omitempty"`
	// Verdict is what the registry says of the skill, and Reason why.
	Verdict   Verdict        `json:"verdict"`
	Reason    string         `json:"reason,omitempty"`
	Signature SignatureState `json:"signature"`
	Signer    string         `json:"signer,omitempty"`
	// Files are written below the folder of skills.
	Files []string `json:"files"`
	// Flags are what a person should look at first.
	Flags []scan.Flag `json:"flags"`
	// Sum names the files: [Options.Only] installs these and no others.
	Sum string `json:"sum"`
}

// Offer downloads and checks a skill as [Installer.Install] does, and puts nothing in place.
func (in *Installer) Offer(ctx context.Context, s Source, ref Ref, o Options) (offer Offer, err error) {
	err = in.alone(ctx, func(p *place) error {
		release, err := in.resolve(ctx, p, s, ref, o)
		if err != nil {
			return err
		}
		origin, flags, err := in.prepare(ctx, p, s, release, o)
		if err != nil {
			return err
		}
		if err := free(p, origin.Name, o); err != nil {
			return err
		}
		offer = Offer{
			Name: origin.Name, Registry: origin.Registry, Location: origin.Location, Version: origin.Version,
			Verdict: release.Verdict, Reason: release.Reason,
			Signature: origin.Signature, Signer: origin.Signer, Files: slices.Sorted(maps.Keys(origin.Files)),
			Flags: append([]scan.Flag{}, flags...), Sum: sumOf(origin.Files),
		}
		return nil
	})
	return offer, err
}

// sumOf names files by their names and digests.
func sumOf(files map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %s\n", name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

package rate

import "testing"

func TestZoneOf(t *testing.T) {
	for country, want := range map[string]Zone{"DE": Domestic, "FR": Europe, "JP": World, "": World} {
		if got := ZoneOf(country); got != want {
			t.Errorf("ZoneOf(%q) = %q, want %q", country, got, want)
		}
	}
}

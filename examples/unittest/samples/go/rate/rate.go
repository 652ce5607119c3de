// Package rate says what it costs to ship a parcel.
package rate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Zone is where a parcel goes.
type Zone string

// The zones.
const (
	Domestic Zone = "domestic"
	Europe   Zone = "europe"
	World    Zone = "world"
)

// Parcel is what is shipped. Weights are in grams, amounts of money in cents.
type Parcel struct {
	Grams   int
	Value   int
	Express bool
	Fragile bool
}

// What a parcel must not exceed.
const (
	MaxGrams = 30_000
	freeFrom = 5_000 // domestic orders of this value ship free
)

var (
	// ErrWeight says that a parcel has no weight, or too much.
	ErrWeight = errors.New("weight out of range")
	// ErrZone says that there is no such zone.
	ErrZone = errors.New("unknown zone")
)

// Quote returns the price of shipping a parcel to a zone.
func Quote(p Parcel, to Zone) (int, error) {
	if p.Grams <= 0 || p.Grams > MaxGrams {
		return 0, fmt.Errorf("%w: %d g", ErrWeight, p.Grams)
	}
	price := 0
	switch to {
	case Domestic:
		price = tier(p.Grams, 390, 590)
	case Europe:
		price = tier(p.Grams, 890, 1_490)
	case World:
		price = tier(p.Grams, 1_590, 3_290)
	default:
		return 0, fmt.Errorf("%w: %q", ErrZone, to)
	}
	if to == Domestic && p.Value >= freeFrom && !p.Express {
		price = 0
	}
	if p.Express {
		price += price / 2
	}
	return price + insurance(p), nil
}

// tier is the price by weight: light up to 2 kg, heavy up to 10 kg, and a surcharge for each
// kilogram begun above.
func tier(grams, light, heavy int) int {
	if grams <= 2_000 {
		return light
	}
	if grams <= 10_000 {
		return heavy
	}
	extra := (grams - 10_000 + 999) / 1_000
	return heavy + extra*100
}

// insurance is one percent of the value above 100.00, and at least 2.50 for fragile goods.
func insurance(p Parcel) int {
	fee := 0
	if p.Value > 10_000 {
		fee = (p.Value - 10_000) / 100
	}
	if p.Fragile && fee < 250 {
		fee = 250
	}
	return fee
}

// ParseWeight reads a weight such as "750 g" or "2.5kg", in grams.
func ParseWeight(text string) (int, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	factor := 1.0
	switch {
	case strings.HasSuffix(text, "kg"):
		text, factor = strings.TrimSuffix(text, "kg"), 1000
	case strings.HasSuffix(text, "g"):
		text = strings.TrimSuffix(text, "g")
	default:
		return 0, fmt.Errorf("%w: %q has no unit", ErrWeight, text)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is no number", ErrWeight, text)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%w: %q", ErrWeight, text)
	}
	return int(n*factor + 0.5), nil
}

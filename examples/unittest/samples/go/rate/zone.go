package rate

// ZoneOf returns the zone of a country, by its two letters.
func ZoneOf(country string) Zone {
	switch country {
	case "DE":
		return Domestic
	case "FR", "IT", "NL", "PL", "ES", "AT":
		return Europe
	}
	return World
}

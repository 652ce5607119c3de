package wrong

// elsewhere is built on one system only.
//
//etui:tool
func elsewhere() error { return nil }

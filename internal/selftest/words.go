package selftest

// What an attacker says, and the parts that it has besides the attacks.
const (
	reached = "REACHED"
	tried   = "tried:"

	beVictim  = "be-victim"
	beLeft    = "be-left"
	beMounter = "be-mounter"
)

package discord

// Hurry lets sessions begin one after another without a pause.
func (c *Channel) Hurry() { c.between = 0 }

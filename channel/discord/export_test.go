package discord

// Hurry lets sessions begin one after another without a pause.
func (c *Channel) Hurry() { c.between = 0 }

// Later is when nothing limits messages to a chat any more.
func (c *Channel) Later(chat string) {
	c.limits.until.Remove(c.limits.bucket("POST channels/{}/messages", "/"+chat))
}

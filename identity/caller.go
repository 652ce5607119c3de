package identity

// Caller is who sends a message, and where it comes from: all that a channel or a client
// says about a sender, by which rules decide. A message that is made for somebody
// else takes this value as a whole, so that no part of it is lost.
type Caller struct {
	Channel string `json:"channel,omitempty"`
	// Account is the agent's own account on the channel.
	Account string `json:"account,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Thread  string `json:"thread,omitempty"`
	// Direct means that only the sender reads Chat.
	Direct bool `json:"direct,omitempty"`
	// User is what the channel calls the sender. Guest tells senders without a name apart.
	User  string `json:"user,omitempty"`
	Guest string `json:"guest,omitempty"`
	// Roles and Attrs are what the client states, PlatformRoles what the platform knows.
	Roles         []string          `json:"roles,omitempty"`
	PlatformRoles []string          `json:"platform_roles,omitempty"`
	Attrs         map[string]string `json:"attrs,omitempty"`
}

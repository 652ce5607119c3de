package skill

// PollOnly stops the loader from watching its folders.
func (l *Loader) PollOnly() { l.pollOnly = true }

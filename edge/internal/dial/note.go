package dial

// Note leaves word in a channel of one; a second word adds nothing.
func Note(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

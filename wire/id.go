package wire

// MaxIDBytes bounds an edge_id.
const MaxIDBytes = 128

// EdgeIDRule is ValidEdgeID's rule in words.
const EdgeIDRule = "1 to 128 letters, digits and . _ - : with a letter or digit first"

// ValidEdgeID tells whether s is an edge_id: 1 to 128 bytes, ASCII letters, digits, '.', '_', '-' and
// ':', the first one a letter or digit. Ids are case-sensitive.
func ValidEdgeID(s string) bool {
	if s == "" || len(s) > MaxIDBytes || !letterOrDigit(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case letterOrDigit(c), c == '.', c == '_', c == '-', c == ':':
		default:
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

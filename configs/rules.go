package configs

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxText bounds every text in a configuration, in bytes: what is longer is a mistake.
const maxText = 4096

// textRules are the rules for text that a check tag can name. Each says what is wrong with a value
// and what is expected, or "". None repeats the value, which may be secret.
var textRules = map[string]func(string) string{
	"text":     shortText,
	"listen":   listenAddress,
	"loopback": loopbackOnly,
	"dial":     dialAddress,
	"host":     hostName,
	"id":       identifier,
	"id*":      identifierOrPrefix,
	"sha256":   sha256Hex,
	"origin":   webOrigin,
	"url":      anyURL,
	"http-url": httpURL,
}

// broken says what is wrong with a value by the rules of a check tag and what is expected, or "". The tag is a
// list of words:
//
//	required       the key must be in its mapping, and not be null (structure, collection and scalar look at that)
//	optional       the empty text is fine and ends the checks
//	range=1..64    for int and time.Duration
//	oneof=a|b      for text
//	labels         for map[string]string
//	anything else  one of textRules
func broken(check string, v reflect.Value) string {
	if check == "" {
		return ""
	}
	for word := range strings.SplitSeq(check, ",") {
		name, arg, _ := strings.Cut(word, "=")
		wrong := ""
		switch name {
		case "required":
		case "optional":
			if v.String() == "" {
				return ""
			}
		case "range":
			wrong = outOfRange(check, arg, v)
		case "oneof":
			if options := strings.Split(arg, "|"); !slices.Contains(options, v.String()) {
				wrong = "is unknown; expected one of " + strings.Join(options, ", ")
			}
		case "labels":
			wrong = labelLimits(v.Interface().(map[string]string))
		default:
			wrong = textRules[name](v.String())
		}
		if wrong != "" {
			return wrong
		}
	}
	return ""
}

func hasWord(check, word string) bool {
	return slices.Contains(strings.Split(check, ","), word)
}

func outOfRange(check, bounds string, v reflect.Value) string {
	low, high, _ := strings.Cut(bounds, "..")
	if least, most := bound(low, v), bound(high, v); v.Int() >= least && v.Int() <= most {
		return ""
	}
	if v.Int() < 0 {
		return "is negative; " + expectedRange(check)
	}
	return "is out of range; " + expectedRange(check)
}

// bound reads one end of a range=, which is written as a value of v's type is.
func bound(text string, v reflect.Value) int64 {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		t, err := time.ParseDuration(text)
		if err != nil {
			panic(err) // a mistake in a struct tag
		}
		return int64(t)
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err) // a mistake in a struct tag
	}
	return i
}

func expectedRange(check string) string {
	for word := range strings.SplitSeq(check, ",") {
		if bounds, ok := strings.CutPrefix(word, "range="); ok {
			low, high, _ := strings.Cut(bounds, "..")
			return "expected " + low + " to " + high
		}
	}
	return "expected a whole number"
}

// plainText refuses what would not survive a terminal, a log line or a YAML file.
func plainText(s string, most int) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8; expected text in UTF-8"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has characters that can't be printed; expected one line of text"
	case len(s) > most:
		return fmt.Sprintf("is %d bytes long; expected at most %d", len(s), most)
	}
	return ""
}

// shortText is the wire's limit for names and versions.
func shortText(s string) string {
	if s == "" {
		return "is empty; expected text"
	}
	return plainText(s, 256)
}

// labelLimits are the limits that a hello has on the wire.
func labelLimits(labels map[string]string) string {
	if len(labels) > 64 {
		return fmt.Sprintf("has %d labels; expected at most 64", len(labels))
	}
	for key, value := range labels {
		if key == "" || plainText(key, 256) != "" || plainText(value, 256) != "" {
			return "has a label off the limits; expected keys and values of one line and at most 256 bytes, no key empty"
		}
	}
	return ""
}

// idRule is the wire's rule for ids.
var idRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

const idExpected = "expected 1 to 128 letters, digits and . _ - : with a letter or digit first"

func identifier(s string) string {
	if !idRule.MatchString(s) {
		return "is not an id; " + idExpected
	}
	return ""
}

// identifierOrPrefix also takes "seoul-*", and "*" alone, the prefix of every id.
func identifierOrPrefix(s string) string {
	prefix, starred := strings.CutSuffix(s, "*")
	if idRule.MatchString(prefix) || starred && prefix == "" {
		return ""
	}
	return "is neither an id nor a prefix and one * at its end; " + idExpected
}

var (
	sha256Rule = regexp.MustCompile(`^[0-9A-Fa-f]{64}$`)
	emptyHash  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func sha256Hex(s string) string {
	const expected = `expected the 64 hex digits of a token's SHA-256, as "iop-control-plane token" prints them`
	if !sha256Rule.MatchString(s) {
		return fmt.Sprintf("is not a SHA-256 (it has %d characters); %s", utf8.RuneCountInString(s), expected)
	}
	if strings.EqualFold(s, emptyHash) {
		return "is the SHA-256 of the empty token, which anybody has; " + expected
	}
	return ""
}

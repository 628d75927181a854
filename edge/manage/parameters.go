package manage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"iop/edge"
)

// OnlyParameters refuses a command with a parameter that its operation doesn't know: a mistyped deadline must not be
// no deadline.
func OnlyParameters(c *edge.Command, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		if slices.Contains(known, name) {
			continue
		}
		if len(known) == 0 {
			return edge.Rejected(fmt.Sprintf("There is a parameter %.40q; %s takes none.", name, c.Operation))
		}
		return edge.Rejected(fmt.Sprintf("There is a parameter %.40q; %s takes %s.", name, c.Operation, strings.Join(known, ", ")))
	}
	return nil
}

// text is a parameter that must be given.
func text(c *edge.Command, name string) (string, error) {
	s, ok := c.Parameters[name].(string)
	if !ok || s == "" {
		return "", edge.Rejected(fmt.Sprintf("The parameter %s is missing, or isn't text.", name))
	}
	return s, nil
}

// seconds is a parameter that may be left out.
func seconds(c *edge.Command, name string, otherwise, most time.Duration) (time.Duration, error) {
	v, given := c.Parameters[name]
	if !given {
		return otherwise, nil
	}
	n, ok := v.(float64)
	if !ok || math.IsNaN(n) || n < 0 || n > most.Seconds() {
		return 0, edge.Rejected(fmt.Sprintf("The parameter %s isn't a number from 0 to %.0f.", name, most.Seconds()))
	}
	return time.Duration(n * float64(time.Second)), nil
}

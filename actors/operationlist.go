package actors

import (
	"iter"
	"unique"
)

// OperationList is the operations that an Edge's hello lists, in its order. Nearly all Edges of a fleet list the same ones, which take
// more than the rest of a View: equal lists are kept once, in one piece. unique's table is a weak one, so that a
// list goes with the last View that has it, and what peers make up is never more than one for each View.
type OperationList struct{ packed unique.Handle[string] }

// NewOperationList packs names, each behind its length; none make the zero OperationList.
func NewOperationList(names []string) OperationList {
	if len(names) == 0 {
		return OperationList{}
	}
	var b []byte
	for _, name := range names {
		b = appendText(b, name)
	}
	return OperationList{unique.Make(string(b))}
}

// All gives the names in their order.
func (l OperationList) All() iter.Seq[string] {
	return func(yield func(name string) bool) {
		if l == (OperationList{}) {
			return
		}
		for rest := l.packed.Value(); rest != ""; {
			var name string
			if name, rest = cutText(rest); !yield(name) {
				return
			}
		}
	}
}

// Allows tells whether a command may ask for an operation: one that is listed, or any where the Edge doesn't say.
func (l OperationList) Allows(name string) bool {
	if l == (OperationList{}) {
		return true
	}
	for listed := range l.All() {
		if listed == name {
			return true
		}
	}
	return false
}

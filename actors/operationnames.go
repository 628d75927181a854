package actors

import (
	"iter"
	"unique"
)

// OperationNames are the names of what an Edge can be asked to do, as its hello lists them and in its order. Nearly all Edges of a
// fleet list the same ones, which take more than the rest of a View: equal lists are kept once, in one piece. unique's table is a
// weak one, so that a list goes with the last View that has it, and what peers make up is never more than one for each View.
type OperationNames struct{ packed unique.Handle[string] }

// NewOperationNames packs names, each after its length; no names make the zero OperationNames.
func NewOperationNames(names []string) OperationNames {
	if len(names) == 0 {
		return OperationNames{}
	}
	var b []byte
	for _, name := range names {
		b = appendText(b, name)
	}
	return OperationNames{unique.Make(string(b))}
}

// All gives the names in their order.
func (l OperationNames) All() iter.Seq[string] {
	return func(yield func(name string) bool) {
		if l == (OperationNames{}) {
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
func (l OperationNames) Allows(name string) bool {
	if l == (OperationNames{}) {
		return true
	}
	for listed := range l.All() {
		if listed == name {
			return true
		}
	}
	return false
}

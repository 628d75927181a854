// Package configs holds the YAML files of the daemon, of the Edge, of the Node agent, of iop and of iop-load, and the code that
// reads and checks them.
//
// A document is a plain struct with yaml tags: [ControlPlane], [Edge], [Node], [CLI] and [LoadScenario]. It is filled in layers,
// a later one wins: built-in defaults, the file, and where the program has them environment variables and flags. Every layer
// is read equally strictly, and everything that is wrong is reported at once, as [Problems], each with
// the place it comes from: file and line, the variable, or the flag.
//
// Strictly means: unknown and repeated keys, wrong types, values out of range, aliases, merge keys
// and second documents are problems. An empty section (`server:` with nothing below it) sets
// nothing; an empty value is a problem.
//
// Values that are secret (the yaml struct tag's neighbour `secret:"true"`) are never part of a
// problem's text, and [ControlPlane.Print] shows them as ***.
package configs

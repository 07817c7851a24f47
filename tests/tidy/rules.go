package tidy

// Rule is one thing the repository promises.
type Rule struct {
	Name  string
	Check func(*Tree) []Fault
}

// Rules are all of them.
var Rules = []Rule{
	{"imports", (*Tree).imports},
	{"purity", (*Tree).purity},
	{"calls", (*Tree).calls},
	{"shape", (*Tree).shape},
	{"docs", (*Tree).docs},
	{"words", (*Tree).words},
	{"skips", (*Tree).skips},
}

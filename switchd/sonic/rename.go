package sonic

import (
	"maps"
	"slices"
	"strings"
)

// PortNames are all ports that any row names, in natural order: Ethernet4 before Ethernet12.
func (t *Tables) PortNames() []string {
	names := make(map[string]bool)
	t.eachPort(func(port string) (string, bool) {
		names[port] = true
		return port, true
	})
	return slices.SortedFunc(maps.Keys(names), natural)
}

// Rename returns tables with other names for ports. Rows of ports without a new name are left
// out; they are returned.
func (t *Tables) Rename(names map[string]string) (renamed *Tables, without []string) {
	left := make(map[string]bool)
	c := t.Clone()
	c.eachPort(func(port string) (string, bool) {
		name, ok := names[port]
		left[port] = left[port] || !ok
		return name, ok
	})
	for port, out := range left {
		if out {
			without = append(without, port)
		}
	}
	slices.SortFunc(without, natural)
	return c, without
}

// eachPort calls name with the port of each row and gives the row that name; false takes the row
// out.
func (t *Tables) eachPort(name func(string) (string, bool)) {
	rekey(&t.Ports, name)
	for list := range t.Cables {
		row := map[string]int(t.Cables[list])
		rekey(&row, name)
		t.Cables[list] = row
	}
	rekey(&t.PortQoS, except(Global, name))
	rekey(&t.PGs, onSlot(name))
	rekey(&t.BufferQueues, onSlot(name))
	rekey(&t.IngressLists, name)
	rekey(&t.EgressLists, name)
	rekey(&t.Queues, onSlot(name))
	rekey(&t.Watchdogs, name)
}

func except(key string, name func(string) (string, bool)) func(string) (string, bool) {
	return func(k string) (string, bool) {
		if k == key {
			return k, true
		}
		return name(k)
	}
}

func onSlot(name func(string) (string, bool)) func(string) (string, bool) {
	return func(key string) (string, bool) {
		port, rest, _ := strings.Cut(key, "|")
		to, ok := name(port)
		return to + "|" + rest, ok
	}
}

func rekey[R any](rows *map[string]R, name func(string) (string, bool)) {
	if *rows == nil {
		return
	}
	out := make(map[string]R, len(*rows))
	for key, row := range *rows {
		if to, ok := name(key); ok {
			out[to] = row
		}
	}
	*rows = out
}

// natural compares names so that numbers in them count as numbers.
func natural(a, b string) int {
	for a != "" && b != "" {
		textA, numA, restA := token(a)
		textB, numB, restB := token(b)
		if c := strings.Compare(textA, textB); c != 0 {
			return c
		}
		if len(numA) != len(numB) {
			return len(numA) - len(numB)
		}
		if c := strings.Compare(numA, numB); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return len(a) - len(b)
}

// token splits off the leading text and the number behind it, without its zeros.
func token(s string) (text, number, rest string) {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	i := strings.IndexFunc(s, isDigit)
	if i < 0 {
		return s, "", ""
	}
	text, s = s[:i], s[i:]
	j := strings.IndexFunc(s, func(r rune) bool { return !isDigit(r) })
	if j < 0 {
		j = len(s)
	}
	return text, strings.TrimLeft(s[:j], "0"), s[j:]
}

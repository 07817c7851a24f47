package show

import (
	"cmp"
	"strconv"
	"strings"
)

// missing is what SONiC prints for a counter that does not exist; 0 would be a value.
const missing = "N/A"

// commas writes a number with thousands separators.
func commas[N uint64 | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	if n > 0 {
		text = strconv.FormatUint(uint64(n), 10)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// plain writes a number without separators.
func plain[N uint64 | int64 | int](n N) string { return strconv.FormatInt(int64(n), 10) }

// eight writes the numbers of eight priorities, queues or groups.
func eight[N any](first string, values [8]N, write func(N) string) []string {
	cells := []string{first}
	for _, v := range values {
		cells = append(cells, write(v))
	}
	return cells
}

// titles are the titles of a table by priority, queue or group.
func titles(first, prefix string) []string {
	list := []string{first}
	for n := range 8 {
		list = append(list, prefix+strconv.Itoa(n))
	}
	return list
}

// list writes priorities as SONiC does in pfc_enable: "3,4".
func list(numbers []int) string {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
}

// natural compares names with the numbers in them as numbers: swp2 before swp10.
func natural(a, b string) int {
	for a != "" && b != "" {
		ta, na, ra := piece(a)
		tb, nb, rb := piece(b)
		if c := cmp.Or(cmp.Compare(ta, tb), cmp.Compare(na, nb)); c != 0 {
			return c
		}
		a, b = ra, rb
	}
	return cmp.Compare(len(a), len(b))
}

// piece cuts a name after its first number.
func piece(s string) (text string, number uint64, rest string) {
	digits := "0123456789"
	i := strings.IndexAny(s, digits)
	if i < 0 {
		return s, 0, ""
	}
	end := i
	for end < len(s) && strings.IndexByte(digits, s[end]) >= 0 {
		end++
	}
	number, err := strconv.ParseUint(s[i:end], 10, 64)
	if err != nil {
		return s, 0, "" // longer than any port's number
	}
	return s[:i], number, s[end:]
}

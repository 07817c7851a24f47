package sonic

import (
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// ecnModes are the values of WRED_PROFILE.ecn: which colours are marked.
var ecnModes = []string{"ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow",
	"ecn_green_red", "ecn_yellow_red", "ecn_all"}

func wredSchema() schema {
	type row = WRED
	return &records[row]{table: "WRED_PROFILE", keys: byName,
		rows:  func(t *Tables) *map[string]row { return &t.WRED },
		fresh: row{Probability: 100, ECN: "ecn_none", MarkAt: "enqueue"},
		fields: []field[row]{
			switchField("wred_green_enable", "true", "false",
				func(r *row) *bool { return &r.Drop }),
			sizeField("green_min_threshold", func(r *row) *unit.Bytes { return &r.Min }),
			sizeField("green_max_threshold", func(r *row) *unit.Bytes { return &r.Max }),
			percentField("green_drop_probability",
				func(r *row) *float64 { return &r.Probability }),
			wordField("ecn", func(r *row) *string { return &r.ECN }, ecnModes...),
			optional("ecn_green_min_threshold", formatSize, unit.ParseBytes,
				func(r *row) **unit.Bytes { return &r.ECNMin }),
			optional("ecn_green_max_threshold", formatSize, unit.ParseBytes,
				func(r *row) **unit.Bytes { return &r.ECNMax }),
			optional("ecn_green_mark_probability", formatFloat, parsePercent,
				func(r *row) **float64 { return &r.ECNProbability }),
			wordField("mark_at", func(r *row) *string { return &r.MarkAt }, "enqueue", "dequeue"),
		},
		ignored: colours()}
}

// colours are the fields of yellow and red.
func colours() map[string]string {
	m := make(map[string]string)
	for _, c := range []string{"yellow", "red"} {
		for _, name := range []string{c + "_min_threshold", c + "_max_threshold",
			c + "_drop_probability", "wred_" + c + "_enable", "ecn_" + c + "_min_threshold",
			"ecn_" + c + "_max_threshold", "ecn_" + c + "_mark_probability"} {
			m[name] = noColours
		}
	}
	return m
}

// optional is a field whose absence means something else than any value.
func optional[R, V any](name string, format func(V) string, parse func(string) (V, error),
	at func(*R) **V) field[R] {
	return field[R]{name,
		func(r *R) string {
			if v := *at(r); v != nil {
				return format(*v)
			}
			return ""
		},
		func(r *R, s string) error {
			v, err := parse(s)
			*at(r) = &v
			return err
		}}
}

// greenOnly reports whether the mode names green alone or all colours.
func greenOnly(mode string) bool {
	return slices.Contains([]string{"ecn_none", "ecn_green", "ecn_all"}, mode)
}

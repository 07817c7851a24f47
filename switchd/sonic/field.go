package sonic

import (
	"strconv"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// field is one field of a record. get writes its text; the empty text is "not given".
type field[R any] struct {
	name string
	get  func(*R) string
	set  func(*R, string) error
}

// The kinds of fields. The zero value is "not given", and so is what equals the row's default.

func textField[R any](name string, at func(*R) *string) field[R] {
	return field[R]{name, func(r *R) string { return *at(r) },
		func(r *R, s string) error { *at(r) = s; return nil }}
}

func wordField[R any](name string, at func(*R) *string, words ...string) field[R] {
	return field[R]{name, func(r *R) string { return *at(r) },
		func(r *R, s string) (err error) { *at(r), err = oneOf(s, words...); return err }}
}

func refField[R any](name, table string, at func(*R) *string) field[R] {
	return field[R]{name, func(r *R) string { return *at(r) },
		func(r *R, s string) (err error) { *at(r), err = reference(s, table); return err }}
}

func sizeField[R any](name string, at func(*R) *unit.Bytes) field[R] {
	return field[R]{name, func(r *R) string { return formatSize(*at(r)) },
		func(r *R, s string) (err error) { *at(r), err = unit.ParseBytes(s); return err }}
}

func formatSize(n unit.Bytes) string { return strconv.FormatInt(int64(n), 10) }

func numberField[R any, N ~int | ~uint8 | ~uint16](name string, low, high int,
	at func(*R) *N) field[R] {
	return field[R]{name, func(r *R) string { return strconv.Itoa(int(*at(r))) },
		func(r *R, s string) error {
			n, err := parseNumber(s, low, high)
			*at(r) = N(n)
			return err
		}}
}

func percentField[R any](name string, at func(*R) *float64) field[R] {
	return field[R]{name, func(r *R) string { return formatFloat(*at(r)) },
		func(r *R, s string) (err error) { *at(r), err = parsePercent(s); return err }}
}

func rateField[R any](name string, at func(*R) *unit.Rate) field[R] {
	return field[R]{name, func(r *R) string { return formatRate(*at(r)) },
		func(r *R, s string) (err error) { *at(r), err = parseRate(s); return err }}
}

func millisField[R any](name string, at func(*R) *time.Duration) field[R] {
	return field[R]{name, func(r *R) string { return formatMillis(*at(r)) },
		func(r *R, s string) (err error) { *at(r), err = parseMillis(s); return err }}
}

func switchField[R any](name, on, off string, at func(*R) *bool) field[R] {
	return field[R]{name,
		func(r *R) string {
			if *at(r) {
				return on
			}
			return off
		},
		func(r *R, s string) error {
			_, err := oneOf(s, on, off)
			*at(r) = s == on
			return err
		}}
}

func prioritiesField[R any](name string, at func(*R) *Priorities) field[R] {
	return field[R]{name, func(r *R) string { return at(r).String() },
		func(r *R, s string) (err error) { *at(r), err = parsePriorities(s); return err }}
}

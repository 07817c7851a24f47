package sonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Raw is a CONFIG_DB as texts: values by table, key and field.
type Raw map[string]map[string]map[string]string

// ReadJSON reads a config_db.json. Values are texts; numbers are taken as they stand, and lists
// joined by commas. What is given twice is refused: it is not for us to choose.
func ReadJSON(text []byte) (Raw, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	raw := make(Raw)
	err := object(dec, "", func(table string) error {
		raw[table] = make(map[string]map[string]string)
		return object(dec, table, func(key string) error {
			fields := make(map[string]string)
			raw[table][key] = fields
			at := place(table, key)
			return object(dec, at, func(field string) (err error) {
				// Redis marks lists with an @ at the end of the field's name.
				name := strings.TrimSuffix(field, "@")
				fields[name], err = value(dec, place(at, field))
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the closing brace")
	}
	return raw, nil
}

// object reads one JSON object and calls member after each of its names.
func object(dec *json.Decoder, at string, member func(name string) error) error {
	if err := delimiter(dec, '{', at); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return located(at, err)
		}
		name, ok := t.(string)
		if !ok || name == "" {
			return located(at, fmt.Errorf("name %v: want a text", t))
		}
		if seen[name] {
			return located(place(at, name), errors.New("is given twice"))
		}
		seen[name] = true
		if err := member(name); err != nil {
			return err
		}
	}
	return delimiter(dec, '}', at)
}

func delimiter(dec *json.Decoder, want json.Delim, at string) error {
	t, err := dec.Token()
	if err != nil {
		return located(at, err)
	}
	if t != want {
		return located(at, fmt.Errorf("%v: want %q", t, want))
	}
	return nil
}

// value reads a text, a number, or a list of them.
func value(dec *json.Decoder, at string) (string, error) {
	t, err := dec.Token()
	if err != nil {
		return "", located(at, err)
	}
	if t != json.Delim('[') {
		return scalar(t, at)
	}
	var parts []string
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return "", located(at, err)
		}
		part, err := scalar(t, at)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ","), delimiter(dec, ']', at)
}

func scalar(t json.Token, at string) (string, error) {
	switch v := t.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", located(at, fmt.Errorf("%v: want a text or a number", t))
}

func located(at string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if at == "" {
		return err
	}
	return fmt.Errorf("%s: %w", at, err)
}

// JSON is the text of a config_db.json as SONiC writes it: sorted, values as texts.
func (r Raw) JSON() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "    ")
	if err := enc.Encode(r); err != nil {
		panic(fmt.Sprintf("sonic: texts that JSON cannot hold: %v", err)) // there are none
	}
	return b.Bytes()
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// row is a row, made if it is not there.
func (r Raw) row(table, key string) map[string]string {
	if r[table] == nil {
		r[table] = make(map[string]map[string]string)
	}
	if r[table][key] == nil {
		r[table][key] = make(map[string]string)
	}
	return r[table][key]
}

package switchd

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// CodePoints maps DSCP to traffic classes. In a file it is a mapping, which is all there is, or the
// name of a map that is shipped: roce or sonic.
type CodePoints map[uint8]uint8

// roceDSCP is the default. It keeps SONiC's lossless 3 and 4, and has 26, which RoCE traffic
// carries as a rule (ToS 106), in class 3, where SONiC's own map has it in a lossy one. CNPs have
// 48.
func roceDSCP() CodePoints { return CodePoints{3: 3, 4: 4, 26: 3, 48: 6} }

// sonicDSCP is DSCP_TO_TC_MAP AZURE of SONiC's qos_config template.
func sonicDSCP() CodePoints {
	m := make(CodePoints)
	for dscp := range uint8(64) {
		m[dscp] = 1
	}
	m[3], m[4], m[5], m[8], m[46], m[48] = 3, 4, 2, 0, 5, 6
	return m
}

// UnmarshalYAML reads either form.
func (m *CodePoints) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return (*classMap)(m).UnmarshalYAML(n)
	}
	switch n.Value {
	case "roce":
		*m = roceDSCP()
	case "sonic":
		*m = sonicDSCP()
	default:
		return fmt.Errorf("map %q: want roce, sonic, or code points as {26: 3}", n.Value)
	}
	return nil
}

// Fraction is a positive number without loss: 1/16, 0.5 or 8. The zero value is "not given".
type Fraction struct{ Num, Den int64 }

// maxPart bounds both parts, as in a fractional dynamic_th.
const maxPart = 1 << 20

// UnmarshalText reads a fraction or a decimal number.
func (f *Fraction) UnmarshalText(b []byte) error {
	r, ok := new(big.Rat).SetString(strings.ReplaceAll(string(b), " ", ""))
	if !ok || len(b) > 20 || r.Sign() <= 0 || !r.Num().IsInt64() || !r.Denom().IsInt64() ||
		r.Num().Int64() > maxPart || r.Denom().Int64() > maxPart {
		return fmt.Errorf("%q: want a positive number as 1/16, 0.5 or 8", b)
	}
	f.Num, f.Den = r.Num().Int64(), r.Denom().Int64()
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (f Fraction) MarshalText() ([]byte, error) {
	return []byte(big.NewRat(f.Num, f.Den).RatString()), nil
}

// IsZero reports whether there is none, so that YAML leaves it out.
func (f Fraction) IsZero() bool { return f == Fraction{} }

// alpha is the fraction divided by n, as a factor of a limit.
func (f Fraction) alpha(n int64) sonic.Alpha {
	r := big.NewRat(f.Num, f.Den*n)
	return sonic.Alpha{Num: r.Num().Int64(), Den: r.Denom().Int64()}
}

// PauseDelay is how long after its last bit an XOFF takes effect. In a file it is a duration, or
// "standard" for the longest that IEEE 802.3 allows at the port's rate.
type PauseDelay struct {
	Standard bool
	Fixed    time.Duration
}

// At is the delay at a rate.
func (d PauseDelay) At(r unit.Rate) time.Duration {
	if d.Standard {
		return pfc.MaxResponse(r)
	}
	return d.Fixed
}

// UnmarshalText reads "standard" or a duration.
func (d *PauseDelay) UnmarshalText(b []byte) error {
	if string(b) == "standard" {
		*d = PauseDelay{Standard: true}
		return nil
	}
	fixed, err := time.ParseDuration(string(b))
	if err != nil || fixed < 0 {
		return fmt.Errorf("%q: want standard, or a duration as 1.5us", b)
	}
	*d = PauseDelay{Fixed: fixed}
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (d PauseDelay) MarshalText() ([]byte, error) {
	if d.Standard {
		return []byte("standard"), nil
	}
	return []byte(d.Fixed.String()), nil
}

// Overlay is fields of SONiC's tables by table, key and field, in lower case.
type Overlay map[string]map[string]map[string]Value

// Value is the value of a field: a text, a number, or a list, which is joined by commas. The empty
// text takes the field out.
type Value string

// UnmarshalYAML reads any of them.
func (v *Value) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		var parts []string
		if err := n.Decode(&parts); err != nil {
			return err
		}
		*v = Value(strings.Join(parts, ","))
		return nil
	}
	return n.Decode((*string)(v))
}

// raw is the overlay in sonic's type.
func (o Overlay) raw() sonic.Raw {
	raw := make(sonic.Raw)
	for table, rows := range o {
		raw[table] = make(map[string]map[string]string)
		for key, row := range rows {
			raw[table][key] = make(map[string]string)
			for field, value := range row {
				raw[table][key][field] = string(value)
			}
		}
	}
	return raw
}

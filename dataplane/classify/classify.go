package classify

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
)

// Classes is how many traffic classes there are.
const Classes = 8

// Trust says which field of a frame chooses its traffic class.
type Trust uint8

// The fields.
const (
	TrustDSCP Trust = iota // [RDMA at scale] section 3: DSCP-based PFC, untagged ports
	TrustPCP               // IEEE 802.1Q-2022 6.9.3: the tag's priority code point
)

// Map gives a frame its traffic class. The zero value puts everything into class 0.
type Map struct {
	Trust   Trust
	DSCP    [64]uint8 // traffic class by DSCP
	PCP     [8]uint8  // traffic class by PCP, of the outer tag if there are two
	Default uint8     // traffic class of frames without the trusted field
}

// Validate returns an error that names the first entry which is no traffic class.
func (m *Map) Validate() error {
	for dscp, tc := range m.DSCP {
		if tc >= Classes {
			return fmt.Errorf("DSCP %d: traffic class %d, want 0 to %d", dscp, tc, Classes-1)
		}
	}
	for pcp, tc := range m.PCP {
		if tc >= Classes {
			return fmt.Errorf("PCP %d: traffic class %d, want 0 to %d", pcp, tc, Classes-1)
		}
	}
	if m.Default >= Classes {
		return fmt.Errorf("default: traffic class %d, want 0 to %d", m.Default, Classes-1)
	}
	return nil
}

// Classify looks at the frame b. Of a malformed frame it tells nothing but that.
func (m *Map) Classify(b []byte) frame.Class { return m.classify(b, len(b)) }

// Frame looks at f, of which a run of zeros need not be stored.
func (m *Map) Frame(f *frame.Frame) frame.Class { return m.classify(f.Head(), int(f.Len())) }

// classify looks at the beginning b of a frame of size bytes.
func (m *Map) classify(b []byte, size int) frame.Class {
	k := look{m: m, Class: frame.Class{TC: m.Default}, size: size}
	if !k.frame(b) {
		return frame.Class{Kind: frame.Malformed, TC: m.Default}
	}
	return k.Class
}

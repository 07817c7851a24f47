package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// NoneParams is no congestion control: every QP at line rate, PFC alone holds it back.
type NoneParams struct{}

func newNoneParams(string) Params { return &NoneParams{} }

// Validate finds nothing to complain about.
func (*NoneParams) Validate(unit.Rate) []error { return nil }

// HandlesCNP says that CNPs are ignored.
func (*NoneParams) HandlesCNP() bool { return false }

// HandlesCNM says that CNMs are ignored.
func (*NoneParams) HandlesCNM() bool { return false }

// New makes the reaction point that never reacts.
func (*NoneParams) New(s Setup) Algorithm { return none{s.Line} }

type none struct{ line unit.Rate }

func (none) Sent(unit.Time, unit.Bytes)   {}
func (none) Ack(unit.Time, Ack)           {}
func (none) Nack(unit.Time)               {}
func (none) CNP(unit.Time, CNP)           {}
func (none) CNM(unit.Time, CNM)           {}
func (none) RTT(unit.Time, time.Duration) {}
func (none) Timeout(unit.Time)            {}
func (none) Wake(unit.Time)               {}
func (none) NextWake() unit.Time          { return unit.Never }
func (n none) Limit() Limit               { return Limit{Rate: n.line} }
func (none) State() []Value               { return nil }

package ib

import "testing"

// field is one setter with its getter over a view of size bytes.
type field struct {
	name string
	bits int
	size int
	set  func(b []byte, v uint64)
	get  func(b []byte) uint64
}

func flag(name string, set func(*BTH, bool), get func(*BTH) bool) field {
	return field{name, 1, BTHLen,
		func(b []byte, v uint64) { set((*BTH)(b), v != 0) },
		func(b []byte) uint64 {
			if get((*BTH)(b)) {
				return 1
			}
			return 0
		}}
}

func bthFields() []field {
	return []field{
		flag("SE", (*BTH).SetSolicited, (*BTH).Solicited),
		flag("MigReq", (*BTH).SetMigReq, (*BTH).MigReq),
		flag("FECN", (*BTH).SetFECN, (*BTH).FECN),
		flag("BECN", (*BTH).SetBECN, (*BTH).BECN),
		flag("AckReq", (*BTH).SetAckReq, (*BTH).AckReq),
		{"opcode", 8, BTHLen, func(b []byte, v uint64) { (*BTH)(b).SetOpcode(Opcode(v)) },
			func(b []byte) uint64 { return uint64((*BTH)(b).Opcode()) }},
		{"pad", 2, BTHLen, func(b []byte, v uint64) { (*BTH)(b).SetPadCount(int(v)) },
			func(b []byte) uint64 { return uint64((*BTH)(b).PadCount()) }},
		{"pkey", 16, BTHLen, func(b []byte, v uint64) { (*BTH)(b).SetPKey(uint16(v)) },
			func(b []byte) uint64 { return uint64((*BTH)(b).PKey()) }},
		{"destqp", 24, BTHLen, func(b []byte, v uint64) { (*BTH)(b).SetDestQP(QPN(v)) },
			func(b []byte) uint64 { return uint64((*BTH)(b).DestQP()) }},
		{"psn", 24, BTHLen, func(b []byte, v uint64) { (*BTH)(b).SetPSN(PSN(v)) },
			func(b []byte) uint64 { return uint64((*BTH)(b).PSN()) }},
	}
}

func extendedFields() []field {
	return []field{
		{"reth va", 64, RETHLen, func(b []byte, v uint64) { (*RETH)(b).SetVA(v) },
			func(b []byte) uint64 { return (*RETH)(b).VA() }},
		{"reth rkey", 32, RETHLen, func(b []byte, v uint64) { (*RETH)(b).SetRKey(uint32(v)) },
			func(b []byte) uint64 { return uint64((*RETH)(b).RKey()) }},
		{"reth len", 32, RETHLen, func(b []byte, v uint64) { (*RETH)(b).SetLength(uint32(v)) },
			func(b []byte) uint64 { return uint64((*RETH)(b).Length()) }},
		{"syndrome", 8, AETHLen, func(b []byte, v uint64) { (*AETH)(b).SetSyndrome(Syndrome(v)) },
			func(b []byte) uint64 { return uint64((*AETH)(b).Syndrome()) }},
		{"msn", 24, AETHLen, func(b []byte, v uint64) { (*AETH)(b).SetMSN(MSN(v)) },
			func(b []byte) uint64 { return uint64((*AETH)(b).MSN()) }},
		{"imm", 32, ImmDtLen, func(b []byte, v uint64) { (*ImmDt)(b).SetValue(uint32(v)) },
			func(b []byte) uint64 { return uint64((*ImmDt)(b).Value()) }},
		{"ieth", 32, IETHLen, func(b []byte, v uint64) { (*IETH)(b).SetRKey(uint32(v)) },
			func(b []byte) uint64 { return uint64((*IETH)(b).RKey()) }},
		{"qkey", 32, DETHLen, func(b []byte, v uint64) { (*DETH)(b).SetQKey(uint32(v)) },
			func(b []byte) uint64 { return uint64((*DETH)(b).QKey()) }},
		{"source qp", 24, DETHLen, func(b []byte, v uint64) { (*DETH)(b).SetSourceQP(QPN(v)) },
			func(b []byte) uint64 { return uint64((*DETH)(b).SourceQP()) }},
		{"atomic va", 64, AtomicETHLen, func(b []byte, v uint64) { (*AtomicETH)(b).SetVA(v) },
			func(b []byte) uint64 { return (*AtomicETH)(b).VA() }},
		{"atomic rkey", 32, AtomicETHLen,
			func(b []byte, v uint64) { (*AtomicETH)(b).SetRKey(uint32(v)) },
			func(b []byte) uint64 { return uint64((*AtomicETH)(b).RKey()) }},
		{"swap", 64, AtomicETHLen, func(b []byte, v uint64) { (*AtomicETH)(b).SetSwapAdd(v) },
			func(b []byte) uint64 { return (*AtomicETH)(b).SwapAdd() }},
		{"compare", 64, AtomicETHLen, func(b []byte, v uint64) { (*AtomicETH)(b).SetCompare(v) },
			func(b []byte) uint64 { return (*AtomicETH)(b).Compare() }},
		{"original", 64, AtomicAckETHLen,
			func(b []byte, v uint64) { (*AtomicAckETH)(b).SetOriginal(v) },
			func(b []byte) uint64 { return (*AtomicAckETH)(b).Original() }},
		{"CNP interval", 32, CNPReservedLen,
			func(b []byte, v uint64) { (*Notification)(b).SetIntervalNs(uint32(v)) },
			func(b []byte) uint64 { return uint64((*Notification)(b).IntervalNs()) }},
		{"congested flows", 16, CNPReservedLen,
			func(b []byte, v uint64) { (*Notification)(b).SetFlows(uint16(v)) },
			func(b []byte) uint64 { return uint64((*Notification)(b).Flows()) }},
	}
}

// Each setter writes its own bits and no other: on all ones and all zeros, the bits that differ
// between the least and the largest value are the field, and the rest stays.
func TestSettersLeaveNeighbours(t *testing.T) {
	for _, f := range append(bthFields(), extendedFields()...) {
		for _, fill := range []byte{0, 0xff} {
			f.check(t, fill)
		}
	}
}

func (f *field) check(t *testing.T, fill byte) {
	b := make([]byte, f.size)
	for i := range b {
		b[i] = fill
	}
	largest := ^uint64(0) >> (64 - f.bits)
	f.set(b, largest)
	if f.get(b) != largest {
		t.Errorf("%s: reads %x, want %x", f.name, f.get(b), largest)
	}
	high := append([]byte(nil), b...)
	f.set(b, 0)
	changed := 0
	for i := range b {
		d := b[i] ^ high[i]
		if (b[i]^fill)&^d != 0 {
			t.Errorf("%s moved its neighbours in byte %d", f.name, i)
		}
		for ; d != 0; d &= d - 1 {
			changed++
		}
	}
	if changed != f.bits || f.get(b) != 0 {
		t.Errorf("%s covers %d bits, want %d", f.name, changed, f.bits)
	}
}

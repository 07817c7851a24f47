package abi

// Kind is what an entry of the submission ring is.
type Kind uint8

// The kinds.
const (
	KindSend    Kind = iota + 1 // Send, to a queue pair's send queue
	KindReceive                 // Recv, to a queue pair's receive queue
	KindShared                  // Recv, to a shared receive queue
)

// Sizes of entries, in bytes. Inline data takes further entries behind its Send.
const (
	SubmissionSize = 128
	CompletionSize = 64
)

// MaxInline bounds inline data, in bytes.
const MaxInline = 1024

// Submissions is how many entries the submission ring of a program has.
const Submissions = 8192

// Flags of a Send.
const (
	FlagSolicited  = 1 << iota
	FlagFence      // wait for the READs and atomics before it
	FlagUnsignaled // no completion if it succeeds
	FlagInline     // Length bytes stand in the entries behind
)

// Submission is an entry of the submission ring.
type Submission struct {
	Kind   Kind
	Op     uint8
	Flags  uint16
	Handle uint32 // of the queue that it is for
	ID     uint64
	VA     uint64
	Key    uint32
	Length uint32
	Remote uint64
	RKey   uint32
	Imm    uint32

	SwapAdd uint64
	Compare uint64

	Address uint32
	QPN     uint32
	QKey    uint32
}

// InlineEntries is how many entries n bytes of inline data take.
func InlineEntries(n int) int { return (n + SubmissionSize - 1) / SubmissionSize }

// Encode writes the entry to b, which has SubmissionSize bytes.
func (s *Submission) Encode(b []byte) {
	_ = b[SubmissionSize-1]
	b[0], b[1] = uint8(s.Kind), s.Op
	order.PutUint16(b[2:], s.Flags)
	order.PutUint32(b[4:], s.Handle)
	order.PutUint64(b[8:], s.ID)
	order.PutUint64(b[16:], s.VA)
	order.PutUint32(b[24:], s.Key)
	order.PutUint32(b[28:], s.Length)
	order.PutUint64(b[32:], s.Remote)
	order.PutUint32(b[40:], s.RKey)
	order.PutUint32(b[44:], s.Imm)
	order.PutUint64(b[48:], s.SwapAdd)
	order.PutUint64(b[56:], s.Compare)
	order.PutUint32(b[64:], s.Address)
	order.PutUint32(b[68:], s.QPN)
	order.PutUint32(b[72:], s.QKey)
}

// Decode reads the entry from b, which has SubmissionSize bytes. Any bytes are some entry: what it
// says is for the reader to judge.
func (s *Submission) Decode(b []byte) {
	_ = b[SubmissionSize-1]
	*s = Submission{Kind: Kind(b[0]), Op: b[1], Flags: order.Uint16(b[2:]),
		Handle: order.Uint32(b[4:]), ID: order.Uint64(b[8:]), VA: order.Uint64(b[16:]),
		Key: order.Uint32(b[24:]), Length: order.Uint32(b[28:]), Remote: order.Uint64(b[32:]),
		RKey: order.Uint32(b[40:]), Imm: order.Uint32(b[44:]), SwapAdd: order.Uint64(b[48:]),
		Compare: order.Uint64(b[56:]), Address: order.Uint32(b[64:]),
		QPN: order.Uint32(b[68:]), QKey: order.Uint32(b[72:])}
}

// What a program is armed for: the flag of a completion ring.
const (
	ArmNone = iota
	ArmNext
	ArmSolicited
)

// Flags of a Completion.
const (
	FlagHasImm = 1 << iota
	FlagWasSolicited
)

// Completion is an entry of a completion ring.
type Completion struct {
	ID       uint64
	Op       uint8
	Status   uint8
	Flags    uint16
	Handle   uint32 // of the queue pair, never given out again
	QPN      uint32
	SourceQP uint32
	Bytes    uint32
	Imm      uint32
	At       int64
	Done     uint32 // requests of that queue that have ended so far, this one included
	Posted   int64  // when the NIC took the request; 0 of receives
	Lost     int64  // by the daemon's clock against real time, in ns, until then
}

// Encode writes the entry to b, which has CompletionSize bytes.
func (c *Completion) Encode(b []byte) {
	_ = b[CompletionSize-1]
	order.PutUint64(b[0:], c.ID)
	b[8], b[9] = c.Op, c.Status
	order.PutUint16(b[10:], c.Flags)
	order.PutUint32(b[12:], c.Handle)
	order.PutUint32(b[16:], c.QPN)
	order.PutUint32(b[20:], c.SourceQP)
	order.PutUint32(b[24:], c.Bytes)
	order.PutUint32(b[28:], c.Imm)
	order.PutUint64(b[32:], uint64(c.At))
	order.PutUint32(b[40:], c.Done)
	order.PutUint64(b[48:], uint64(c.Posted))
	order.PutUint64(b[56:], uint64(c.Lost))
}

// Decode reads the entry from b, which has CompletionSize bytes.
func (c *Completion) Decode(b []byte) {
	_ = b[CompletionSize-1]
	*c = Completion{ID: order.Uint64(b[0:]), Op: b[8], Status: b[9], Flags: order.Uint16(b[10:]),
		Handle: order.Uint32(b[12:]), QPN: order.Uint32(b[16:]), SourceQP: order.Uint32(b[20:]),
		Bytes: order.Uint32(b[24:]), Imm: order.Uint32(b[28:]), At: int64(order.Uint64(b[32:])),
		Done: order.Uint32(b[40:]), Posted: int64(order.Uint64(b[48:])),
		Lost: int64(order.Uint64(b[56:]))}
}

package ib

import "fmt"

// PSN is a packet sequence number: 24 bits that wrap. IBTA 9.7.1.
type PSN uint32

const (
	psnMask PSN = 1<<24 - 1
	psnHalf PSN = 1 << 23
)

// MaxPSNWindow is how many PSNs may be in flight so that old and new stay distinguishable.
// IBTA 9.7.2: half of the space.
const MaxPSNWindow = int(psnHalf)

// MakePSN cuts v to 24 bits.
func MakePSN(v uint32) PSN { return PSN(v) & psnMask }

// Add returns p+n modulo 2^24; n may be negative.
func (p PSN) Add(n int) PSN { return (p + PSN(uint32(n))) & psnMask }

// Sub returns the signed distance from q to p, in [-2^23, 2^23).
func (p PSN) Sub(q PSN) int {
	return int(int32(uint32(p-q)<<8) >> 8)
}

// Before reports whether p is older than q, by the shorter way around.
func (p PSN) Before(q PSN) bool { return p.Sub(q) < 0 }

// QPN is a queue pair number: 24 bits.
type QPN uint32

// MaxQPN is the largest queue pair number a packet can name.
const MaxQPN QPN = 1<<24 - 1

// QPNs that mean something by themselves. IBTA 10.2.4.2.
const (
	QP0 QPN = 0 // subnet management, not used by RoCE
	QP1 QPN = 1 // general services: the connection manager
)

func (q QPN) String() string { return fmt.Sprintf("0x%06x", uint32(q)) }

// MSN is a message sequence number: 24 bits counting completed requests. IBTA 9.7.7.1.
type MSN uint32

// Next returns the following MSN.
func (m MSN) Next() MSN { return (m + 1) & MSN(psnMask) }

package ib

import (
	"fmt"
	"time"
)

// Syndrome is the first byte of the AETH: two bits of kind and five of detail. IBTA table 45.
type Syndrome uint8

// Syndromes in use. The credit field of an ACK says "no end-to-end flow control", as rxe does.
const (
	SyndromeACK          Syndrome = 0x1f
	NAKSequence          Syndrome = 0x60 // PSN sequence error
	NAKInvalidRequest    Syndrome = 0x61
	NAKRemoteAccess      Syndrome = 0x62
	NAKRemoteOperational Syndrome = 0x63
	syndromeKind         Syndrome = 0x60
	syndromeRNR          Syndrome = 0x20
	syndromeDetail       Syndrome = 0x1f
	rnrTimers                     = 32
	rnrUnit                       = 10 * time.Microsecond
)

// IsACK reports a positive acknowledgement.
func (s Syndrome) IsACK() bool { return s&syndromeKind == 0 }

// IsRNR reports receiver not ready.
func (s Syndrome) IsRNR() bool { return s&syndromeKind == syndromeRNR }

// IsNAK reports a refusal other than RNR.
func (s Syndrome) IsNAK() bool { return s&syndromeKind == syndromeKind }

// ACK makes the syndrome of an acknowledgement that tells the peer it may have so many more
// messages under way that each take a receive: the largest credit that fits the five bits and is
// not above n. IBTA table 47.
func ACK(credits int) Syndrome {
	code := len(creditCounts) - 1
	for code > 0 && int(creditCounts[code]) > credits {
		code--
	}
	return Syndrome(code)
}

// Credits is what the syndrome of an ACK allows; false if it says that the responder does not
// count ("invalid", as rxe always sends).
func (s Syndrome) Credits() (n int, ok bool) {
	if !s.IsACK() || s&syndromeDetail == SyndromeACK {
		return 0, false
	}
	return int(creditCounts[s&syndromeDetail]), true
}

// creditCounts is IBTA table 47 without its last code, which is SyndromeACK.
var creditCounts = [rnrTimers - 1]uint16{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
}

// RNR makes the syndrome that asks to come back after a time by its five-bit code.
func RNR(timer RNRTimer) Syndrome { return syndromeRNR | Syndrome(timer)&syndromeDetail }

// RNRTimer is the code in an RNR syndrome.
func (s Syndrome) RNRTimer() RNRTimer { return RNRTimer(s & syndromeDetail) }

func (s Syndrome) String() string {
	switch {
	case s.IsACK():
		return "ACK"
	case s.IsRNR():
		return "RNR NAK " + s.RNRTimer().Duration().String()
	case s == NAKSequence:
		return "NAK sequence"
	case s == NAKInvalidRequest:
		return "NAK invalid request"
	case s == NAKRemoteAccess:
		return "NAK remote access"
	case s == NAKRemoteOperational:
		return "NAK remote operational"
	}
	return fmt.Sprintf("syndrome 0x%02x", uint8(s))
}

// RNRTimer is the five-bit code of a waiting time. IBTA table 46.
type RNRTimer uint8

// rnrDurations is table 46 in units of 0.01 ms.
var rnrDurations = [rnrTimers]uint16{
	65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// Duration is how long the code asks to wait.
func (t RNRTimer) Duration() time.Duration {
	if t &= rnrTimers - 1; t != 0 {
		return time.Duration(rnrDurations[t]) * rnrUnit
	}
	return 65536 * rnrUnit // code 0, 655.36 ms, does not fit the table's type
}

package pingpong

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/roce/ib"
)

// end is what a side tells of a QP: lid:qpn:psn:gid in hexadecimal, and a zero.
type end struct {
	lid uint16
	qpn ib.QPN
	psn ib.PSN // of the first packet that it sends
	gid netip.Addr
}

const endLen = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1

func (e *end) append(b []byte) []byte {
	gid := e.gid.As16()
	return append(fmt.Appendf(b, "%04x:%06x:%06x:%s", e.lid, uint32(e.qpn), uint32(e.psn),
		hex.EncodeToString(gid[:])), 0)
}

var errEnd = errors.New("not an address of the ibv_*_pingpong programs")

func parseEnd(b []byte) (e end, err error) {
	text, _, _ := strings.Cut(string(b), "\x00")
	fields := strings.Split(text, ":")
	if len(fields) != 4 || len(fields[3]) != 32 {
		return e, fmt.Errorf("%q: %w", text, errEnd)
	}
	lid, e1 := strconv.ParseUint(fields[0], 16, 16)
	qpn, e2 := strconv.ParseUint(fields[1], 16, 24)
	psn, e3 := strconv.ParseUint(fields[2], 16, 24)
	gid, e4 := hex.DecodeString(fields[3])
	if errors.Join(e1, e2, e3, e4) != nil {
		return e, fmt.Errorf("%q: %w", text, errEnd)
	}
	return end{uint16(lid), ib.QPN(qpn), ib.PSN(psn),
		netip.AddrFrom16([16]byte(gid)).Unmap()}, nil
}

package cm

import "fmt"

// State is where in its life a connection or a SIDR request is. The names are IBTA's, volume 1
// chapter 12, and those of Linux include/rdma/ib_cm.h.
type State uint8

// The states. A connection that is idle is not known.
const (
	Idle State = iota
	REQSent
	REQRcvd
	MRAREQSent // we said that our answer to the REQ will take a while
	MRAREQRcvd // the peer said so: "REP wait"
	REPSent
	REPRcvd
	MRAREPSent
	MRAREPRcvd
	Running // established
	DREQSent
	DREQRcvd
	Timewait
	SIDRREQSent
	SIDRREQRcvd
	states
)

var stateNames = [states]string{"idle", "REQ sent", "REQ rcvd", "MRA REQ sent", "MRA REQ rcvd",
	"REP sent", "REP rcvd", "MRA REP sent", "MRA REP rcvd", "established", "DREQ sent",
	"DREQ rcvd", "timewait", "SIDR REQ sent", "SIDR REQ rcvd"}

func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// is reports whether s is one of the list.
func (s State) is(list ...State) bool {
	for _, l := range list {
		if s == l {
			return true
		}
	}
	return false
}

package report

import (
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/roce/ib"
)

// perPacket is what a RoCEv2 packet over IPv4 carries on the line beside its payload.
const perPacket = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + ib.BTHLen + ib.ICRCLen +
	int(wire.Overhead)

// payloadShare is the part of a link's rate that full packets leave for payload.
func payloadShare(s *result.Scenario) float64 {
	if s.PathMTU <= 0 {
		return 1
	}
	return float64(s.PathMTU) / float64(s.PathMTU+perPacket)
}

// fairShare is the goodput of each of n flows that share the bottleneck alike, or 0.
func fairShare(s *result.Scenario, n int) float64 {
	if n == 0 {
		return 0
	}
	return payloadShare(s) * float64(s.LinkRateBps) / float64(n)
}

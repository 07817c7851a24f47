package nic

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// told keeps what congestion control was told when it was made.
type told struct {
	cc.NoneParams
	setups []cc.Setup
}

func (p *told) New(s cc.Setup) cc.Algorithm {
	p.setups = append(p.setups, s)
	return p.NoneParams.New(s)
}

// Congestion control counts in packets of the path MTU that both ends agreed on, and not of that
// with which the QP was created.
func TestPathMTUReachesCongestionControl(t *testing.T) {
	for _, mtu := range []int{256, 512, 1024} {
		params := &told{}
		p := newPeer(t, 1, frame.NewPool(16, 1400), nil)
		local, err := p.CreateRC(p.QPConfig(), Service{CC: params})
		if err != nil {
			t.Fatal(err)
		}
		c := p.QPConfig()
		a := c.ReceiveAttributes()
		a.MTU = mtu
		r := Remote{QPN: 0x99, IP: testConfig(2).IPv4, MAC: testConfig(2).MAC}
		if err := p.ReadyToReceive(local.QPN, r, a); err != nil {
			t.Fatal(err)
		}
		made, last := params.setups[0], params.setups[len(params.setups)-1]
		if want := mtu + ib.MaxOverhead; int(last.MTU) != want {
			t.Errorf("path MTU %d: told %d, want %d", mtu, last.MTU, want)
		}
		if made.MTU = last.MTU; made != last {
			t.Errorf("told %+v at first, %+v at RTR", made, last)
		}
	}
}

// A QP's own algorithm is held to the rule for that of the NIC: DCQCN+ counts flows by their CNPs,
// which only the scope of a QP has one each for.
func TestOwnAlgorithmNeedsScope(t *testing.T) {
	for _, test := range []struct {
		scope CNPScope
		name  string
		want  error
	}{
		{ScopeQP, "dcqcn_plus", nil}, {ScopeIP, "dcqcn_plus", ErrScope},
		{ScopePort, "dcqcn_plus", ErrScope}, {ScopePort, "dcqcn", nil},
	} {
		p := newPeer(t, 1, frame.NewPool(16, 1400), func(c *Config) { c.CNP.Scope = test.scope })
		_, err := p.CreateRC(p.QPConfig(), Service{CC: algorithm(t, test.name)})
		if !errors.Is(err, test.want) {
			t.Errorf("%s with scope %v: %v, want %v", test.name, test.scope, err, test.want)
		}
	}
}

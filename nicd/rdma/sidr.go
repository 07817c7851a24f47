package rdma

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/ib"
)

func decodeCM(body []byte) (e abi.CM, err error) {
	err = json.Unmarshal(body, &e)
	return e, err
}

// Service is a UD QP that SIDR found.
type Service struct {
	Address     *Address
	QPN         ib.QPN
	QKey        uint32
	PrivateData []byte
}

// Target is whom a datagram to the service goes to.
func (s *Service) Target() UDTarget {
	return UDTarget{Address: s.Address, QPN: s.QPN, QKey: s.QKey}
}

// Resolve asks, by SIDR, which UD QP serves a port of RDMA CM's UDP port space. private is at most
// 180 bytes.
func (p *PD) Resolve(ctx context.Context, to netip.AddrPort, private []byte) (*Service, error) {
	d, l := p.dev, newLink()
	number := d.newLink(l)
	_, err := d.call(ctx, abi.CallResolve, abi.Resolve{Conn: number, To: to, Private: private},
		nil, 0)
	if err != nil {
		d.hangUp(number)
		return nil, err
	}
	select {
	case <-l.over:
	case <-d.Done():
		return nil, d.Err()
	case <-ctx.Done():
		d.hangUp(number)
		return nil, ctx.Err()
	}
	e := &l.last
	switch {
	case e.Kind != abi.CMResolved:
		return nil, ErrTimeout
	case ib.SIDRStatus(e.Status) != ib.SIDRSuccess:
		return nil, fmt.Errorf("%w: %v", ErrRejected, ib.SIDRStatus(e.Status))
	}
	a, err := p.CreateAddress(ctx, Path{IP: to.Addr()})
	if err != nil {
		return nil, err
	}
	return &Service{Address: a, QPN: e.QPN, QKey: e.QKey, PrivateData: e.Params.Private}, nil
}

// ServeSIDR answers who asks for a port with a UD QP, until the QP is closed. private is at most
// 136 bytes.
func (d *Device) ServeSIDR(port uint16, q *QP, private []byte) error {
	return d.do(abi.CallServeSIDR, abi.ServeSIDR{Port: port, QP: q.handle, Private: private}, nil)
}

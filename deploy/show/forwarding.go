package show

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/switchd"
)

// bridge stands in the column Vlan for the switch's one bridge; ports with addresses of their own
// have "-" there.
const bridge = "vlan"

// MACs is `show mac`.
type MACs struct {
	Head
	Entries []switchd.MACEntry `json:"entries"`
}

// MACs asks for the MAC table, of some ports if the filter names any.
func (s *Source) MACs(ctx context.Context, f *Filter) (Block, error) {
	st, err := s.State(ctx, f) // judges the ports
	if err != nil {
		return nil, err
	}
	b := &MACs{Head: head(st)}
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/mac", nil, &b.Entries); err != nil {
		return nil, err
	}
	b.Entries = slices.DeleteFunc(b.Entries, func(e switchd.MACEntry) bool {
		return len(f.Ports) > 0 && !slices.Contains(f.Ports, e.Port)
	})
	return b, nil
}

// Text implements Block.
func (b *MACs) Text() string {
	t := left("No.", "Vlan", "MacAddress", "Port", "Type")
	t.left[0] = false
	for i, e := range b.Entries {
		t.row(strconv.Itoa(i+1), bridge, strings.ToUpper(e.MAC.String()), e.Port, title(e.Type))
	}
	return t.String() + fmt.Sprintf("Total number of entries %d\n", len(b.Entries))
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Neighbours is `show arp` and `show ndp`.
type Neighbours struct {
	Head
	Entries []switchd.ARPEntry `json:"entries"`
	ndp     bool
}

// Neighbours asks for neighbours: those of IPv6 with ndp, else those of IPv4; all of them, or one.
func (s *Source) Neighbours(ctx context.Context, ndp bool, only netip.Addr) (Block, error) {
	h, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	b := &Neighbours{Head: h, ndp: ndp}
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/arp", nil, &b.Entries); err != nil {
		return nil, err
	}
	b.Entries = slices.DeleteFunc(b.Entries, func(e switchd.ARPEntry) bool {
		return e.Address.Is4() == ndp || (only.IsValid() && e.Address != only)
	})
	slices.SortStableFunc(b.Entries, func(a, b switchd.ARPEntry) int {
		return a.Address.Compare(b.Address)
	})
	return b, nil
}

// Text implements Block. As in SONiC, an entry without a MAC address is not shown; one whose port
// is not known, which is incomplete in the sense of [RDMA at scale] section 4.2, has "-" for it.
func (b *Neighbours) Text() string {
	names := []string{"Address", "MacAddress", "Iface", "Vlan"}
	if b.ndp {
		names = append(names, "Status")
	}
	t, shown := left(names...), 0
	for i := range b.Entries {
		e := &b.Entries[i]
		if e.MAC == "" {
			continue
		}
		vlan := "-"
		if e.Interface == bridge {
			vlan = bridge
		}
		row := []string{e.Address.String(), e.MAC, orDash(e.Port), vlan}
		if b.ndp {
			row = append(row, strings.ToUpper(e.State))
		}
		t.row(row...)
		shown++
	}
	return t.String() + fmt.Sprintf("Total number of entries %d \n", shown)
}

// Routes is `show ip route` and `show ipv6 route`.
type Routes struct {
	Head
	Routes []switchd.RouteEntry `json:"routes"`
}

// Routes asks for routes: all of a family, those of a prefix, or the one that an address takes.
func (s *Source) Routes(ctx context.Context, ipv6 bool, to string) (Block, error) {
	h, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	b := &Routes{Head: h}
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/route", nil, &b.Routes); err != nil {
		return nil, err
	}
	b.Routes = slices.DeleteFunc(b.Routes, func(r switchd.RouteEntry) bool {
		return r.Prefix.Addr().Is4() == ipv6
	})
	return b, b.choose(to)
}

// choose leaves what leads to an address, or the route of a prefix.
func (b *Routes) choose(to string) error {
	if to == "" {
		return nil
	}
	prefix, err := netip.ParsePrefix(to)
	if addr, bad := netip.ParseAddr(to); bad == nil {
		err = nil
		best := -1
		for _, r := range b.Routes {
			if r.Prefix.Contains(addr) && r.Prefix.Bits() > best {
				prefix, best = r.Prefix, r.Prefix.Bits()
			}
		}
	}
	if err != nil {
		return &NoAddress{to}
	}
	b.Routes = slices.DeleteFunc(b.Routes, func(r switchd.RouteEntry) bool {
		return r.Prefix != prefix
	})
	return nil
}

// NoAddress says that a text is no address, and no prefix where one may be.
type NoAddress struct{ Text string }

func (e *NoAddress) Error() string { return fmt.Sprintf("%q: not an address", e.Text) }

// routeCodes heads the table, as FRR does; a route here is always selected and in the FIB.
const routeCodes = `Codes: C - connected, S - static, L - local,
       > - selected route, * - FIB route

`

// Text implements Block, in FRR's layout as SONiC prints it, but for the age of a route.
func (b *Routes) Text() string {
	var out strings.Builder
	out.WriteString(routeCodes)
	for _, r := range b.Routes {
		code := strings.ToUpper(r.Type[:1])
		switch r.Type {
		case "connected", "local":
			for _, hop := range r.NextHops {
				fmt.Fprintf(&out, "%s>*%v is directly connected, %s\n", code, r.Prefix,
					hop.Interface)
			}
			if len(r.NextHops) == 0 {
				fmt.Fprintf(&out, "%s>*%v is directly connected\n", code, r.Prefix)
			}
		case "static":
			out.WriteString(static(&r))
		} // those that lead nowhere are the broadcast addresses of subnets: FRR has none of them
	}
	return out.String()
}

// static is a route with its next hops, one a line. 1 is the administrative distance of a static
// route in FRR.
func static(r *switchd.RouteEntry) string {
	var out strings.Builder
	first := fmt.Sprintf("%v [1/0] ", r.Prefix)
	for i, hop := range r.NextHops {
		code, prefix := "S>", first
		if i > 0 {
			code, prefix = "  ", strings.Repeat(" ", len(first))
		}
		mark, end := "*", hop.Interface
		if !hop.Up {
			mark, end = " ", hop.Interface+", inactive"
		}
		fmt.Fprintf(&out, "%s%s%svia %s, %s\n", code, mark, prefix, hop.Address, end)
	}
	return out.String()
}

// ClearNeighbours forgets the neighbours of a family, or one; static ones stay.
func (s *Source) ClearNeighbours(ctx context.Context, ndp bool, only netip.Addr) error {
	block, err := s.Neighbours(ctx, ndp, only)
	if err != nil {
		return err
	}
	for _, e := range block.(*Neighbours).Entries {
		if e.State == "permanent" {
			continue
		}
		if err := s.Client.Call(ctx, http.MethodPost, "/v1/arp/delete",
			switchd.ARPRequest{Address: e.Address}, nil); err != nil {
			return err
		}
	}
	return nil
}

// FlushMACs forgets the addresses learnt on a port, or all.
func (s *Source) FlushMACs(ctx context.Context, port string) error {
	return s.Client.Call(ctx, http.MethodPost, "/v1/mac/flush", switchd.FlushRequest{Port: port},
		nil)
}

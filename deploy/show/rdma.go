package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rocelab/rocelab/nicd"
)

// RDMAView says what of the NICs is shown.
type RDMAView uint8

// The views.
const (
	RDMALinks RDMAView = iota // as `rdma link show`
	RDMAQPs                   // as `rdma resource show qp`
	RDMAGIDs                  // as `show_gids`
	RDMAPeers                 // whom the NICs send to by the kernel's word, as `ip neighbour`
)

// RDMA is what the NICs of a lab say about themselves.
type RDMA struct {
	Lab, Command string
	View         RDMAView
	NICs         []nicd.Addresses
}

// JSON writes the answer as one object, whatever the view.
func (r *RDMA) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int              `json:"schema_version"`
		Lab           string           `json:"lab"`
		Command       string           `json:"command"`
		NICs          []nicd.Addresses `json:"nics"`
	}{SchemaVersion, r.Lab, r.Command, r.NICs})
}

// Text writes the answer in the layout of the tool that users know, with NICs in place of RDMA
// devices. Each has one port.
func (r *RDMA) Text(w io.Writer) error {
	var b strings.Builder
	switch r.View {
	case RDMALinks:
		for _, n := range r.NICs {
			state := "ACTIVE physical_state LINK_UP"
			if !n.Up {
				state = "DOWN physical_state DISABLED"
			}
			fmt.Fprintf(&b, "link %s/1 state %s netdev %s\n", n.Name, state, n.Port)
		}
	case RDMAQPs:
		for _, n := range r.NICs {
			for _, q := range n.QPs {
				fmt.Fprintf(&b, "link %s/1 lqpn %d", n.Name, uint32(q.QPN))
				if q.Type == "RC" {
					fmt.Fprintf(&b, " rqpn %d", uint32(q.RemoteQPN))
				}
				fmt.Fprintf(&b, " type %s state %s\n", q.Type, q.State)
			}
		}
	case RDMAGIDs:
		r.gids(&b)
	case RDMAPeers:
		for _, n := range r.NICs {
			for _, p := range n.Peers {
				state := "REACHABLE"
				if p.Lost {
					state = "FAILED"
				}
				fmt.Fprintf(&b, "%v dev %s lladdr %v from %v %s\n", p.IP, n.Port, p.MAC, p.Source,
					state)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gids is the table of show_gids (mlnx-tools), tabs and all: scripts take columns apart by them.
func (r *RDMA) gids(b *strings.Builder) {
	b.WriteString("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4 \t\tVER\tDEV\n" +
		"---\t----\t-----\t---\t\t\t\t\t------------ \t---\t---\n")
	found := 0
	for _, n := range r.NICs {
		for _, g := range n.GIDs {
			ipv4 := "\t"
			if g.IP.Is4() {
				ipv4 = g.IP.String() + " "
			}
			fmt.Fprintf(b, "%s\t1\t%d\t%s\t%s\tv2\t%s\n", n.Name, g.Index, g.GID, ipv4, g.Device)
			found++
		}
	}
	fmt.Fprintf(b, "n_gids_found=%d\n", found)
}

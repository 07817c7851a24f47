package show

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/rocelab/rocelab/nicd"
)

// Pingmesh is `show pingmesh`: what the hosts of a lab say of their probes, in their order.
type Pingmesh struct {
	Lab      string
	Hosts    []string
	Status   map[string]nicd.PingmeshStatus
	Quantile PingmeshQuantile
}

// PingmeshQuantile is which round trip time the matrix shows.
type PingmeshQuantile string

// The quantiles.
const (
	P50 PingmeshQuantile = "p50"
	P90 PingmeshQuantile = "p90"
	P99 PingmeshQuantile = "p99"
	Max PingmeshQuantile = "max"
)

// Of returns the one of r, and false if there is none of that name.
func (q PingmeshQuantile) Of(r *nicd.RTTStatus) (time.Duration, bool) {
	ns, ok := map[PingmeshQuantile]int64{P50: r.P50Ns, P90: r.P90Ns, P99: r.P99Ns,
		Max: r.MaxNs}[q]
	return time.Duration(ns), ok
}

// JSON writes the answer as one object.
func (p *Pingmesh) JSON(w io.Writer) error {
	type host struct {
		Host string `json:"host"`
		nicd.PingmeshStatus
	}
	hosts := []host{}
	for _, name := range p.Hosts {
		hosts = append(hosts, host{name, p.Status[name]})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int    `json:"schema_version"`
		Lab           string `json:"lab"`
		Command       string `json:"command"`
		Hosts         []host `json:"hosts"`
	}{SchemaVersion, p.Lab, "show pingmesh", hosts})
}

// Text writes the matrix: from each host, the round trip time to each other one in microseconds, or
// the code of the latest probe if that had no answer.
func (p *Pingmesh) Text(w io.Writer) error {
	fmt.Fprintf(w, "RTT of RDMA probes, %s in microseconds, or error code\n", p.Quantile)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "from \\ to\t")
	for _, to := range p.Hosts {
		fmt.Fprintf(t, "%s\t", to)
	}
	fmt.Fprintln(t)
	for _, from := range p.Hosts {
		fmt.Fprintf(t, "%s\t", from)
		for _, to := range p.Hosts {
			fmt.Fprintf(t, "%s\t", p.cell(from, to))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func (p *Pingmesh) cell(from, to string) string {
	st := p.Status[from]
	for i := range st.Peers {
		peer := &st.Peers[i]
		if peer.Peer != to {
			continue
		}
		if d, ok := p.Quantile.Of(&peer.RTT); ok && peer.Last == "ok" && peer.RTT.MaxNs > 0 {
			return fmt.Sprintf("%.2f", float64(d)/float64(time.Microsecond))
		}
		if peer.Last == "ok" {
			return "N/A" // no probe has ended yet
		}
		return peer.Last
	}
	return "-"
}

package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/nicd"
)

// addRDMA adds what shows the NICs of a lab's hosts.
func (t *commandTree) addRDMA(o *showOptions) {
	for _, v := range []struct {
		path, about string
		view        show.RDMAView
	}{
		{"rdma link", "the NICs and their links, as rdma link show", show.RDMALinks},
		{"rdma qp", "queue pairs, as rdma resource show qp", show.RDMAQPs},
		{"rdma gids", "GID tables, as show_gids", show.RDMAGIDs},
		{"rdma peers", "whom NICs send to by the kernel's routes and neighbours", show.RDMAPeers},
	} {
		t.add(v.path, v.about, o.rdma(v.view))
	}
}

// rdma is a show command whose arguments are hosts; none are all.
func (o *showOptions) rdma(view show.RDMAView) *cobra.Command {
	return &cobra.Command{
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, hosts []string) error {
			l, err := labs.Find(o.lab)
			if err != nil {
				return err
			}
			answer := &show.RDMA{Lab: l.Name, View: view,
				Command: strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")}
			for _, name := range hosts {
				if n, err := l.Node(name); err != nil {
					return usageError{err}
				} else if n.Kind != lab.Host {
					return usageError{fmt.Errorf("%s is a %s, not a host", name, n.Kind)}
				}
			}
			for _, n := range l.Nodes {
				if n.Kind != lab.Host || len(hosts) > 0 && !slices.Contains(hosts, n.Name) {
					continue
				}
				var a nicd.Addresses
				err := call(c.Context(), l, n.Name, http.MethodGet, "/v1/addresses", nil, &a)
				if err != nil {
					return err
				}
				answer.NICs = append(answer.NICs, a)
			}
			if o.json {
				return answer.JSON(c.OutOrStdout())
			}
			return answer.Text(c.OutOrStdout())
		},
	}
}

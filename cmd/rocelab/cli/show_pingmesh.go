package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/nicd"
)

func (o *showOptions) pingmesh() *cobra.Command {
	c := &cobra.Command{
		Use:   "pingmesh",
		Short: "RTT of RDMA probes between all hosts, or error codes",
		Long: `pingmesh prints what the hosts' RDMA probes found: for each pair the round trip time,
or the error code of the latest probe if it failed. The topology file has it by
'pingmesh: {interval: 10ms}'.`,
		Args: cobra.NoArgs,
	}
	quantile := c.Flags().String("quantile", string(show.P99), "p50, p90, p99 or max")
	c.RunE = func(c *cobra.Command, _ []string) error {
		answer := &show.Pingmesh{Quantile: show.PingmeshQuantile(*quantile),
			Status: map[string]nicd.PingmeshStatus{}}
		if _, ok := answer.Quantile.Of(&nicd.RTTStatus{}); !ok {
			return usageError{fmt.Errorf("--quantile %s: want p50, p90, p99 or max", *quantile)}
		}
		l, err := labs.Find(o.lab)
		if err != nil {
			return err
		}
		answer.Lab = l.Name
		for _, n := range l.Nodes {
			if n.Kind != lab.Host {
				continue
			}
			var st nicd.PingmeshStatus
			err := call(c.Context(), l, n.Name, http.MethodGet, "/v1/pingmesh", nil, &st)
			if err != nil {
				return err
			}
			answer.Hosts, answer.Status[n.Name] = append(answer.Hosts, n.Name), st
		}
		if o.json {
			return answer.JSON(c.OutOrStdout())
		}
		return answer.Text(c.OutOrStdout())
	}
	return c
}

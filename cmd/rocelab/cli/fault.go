package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/labs"
)

// labFlag adds --lab, the running lab that a command is about.
func labFlag(c *cobra.Command) *string {
	return c.Flags().String("lab", "", "`name` of the lab; not needed while only one runs")
}

// call asks a daemon of the lab.
func call(ctx context.Context, l *labs.Lab, node, method, path string, req, resp any) error {
	client, err := l.Client(node)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Call(ctx, method, path, req, resp)
}

func faultCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fault",
		Short: "make something go wrong in a running lab",
		Long: `fault makes something go wrong at a port of a running lab, at once or at a time of
the lab's clock. Ports are named as in the topology file, sw0:swp1 or h1:eth0; a fault acts on the
frames that leave there. What it does is in 'rocelab events' and, as a comment on each frame, in
captures.

  loss 0.001              every frame is lost with this probability
  drop ipid 0xff          frames whose IP ID ends in 0xff: one in 256
  drop qp 0x11 psn 100    this packet of this queue pair
  corrupt 1e-4            one bit is flipped; corrupt byte 62 mask 0x01: that one
  dup 0.01                the frame is sent twice
  reorder 0.01 by 5us     it is held back; or by 3 frames
  delay 10us jitter 2us   everything takes longer, in order
  mark nth 10             the tenth ECN-capable packet is marked CE
  rate 10Gb/s             the wire is slower than the device believes
  down                    the link is down, at both ends (without --at: in 10 ms)
  freeze                  nothing leaves, and the device believes that the link is up
  storm 3,4               PFC XOFF for ever on these priorities

All but the last four choose frames by: prob P, nth N, every N, limit N, ipid BITS[/MASK], dscp N,
kind pfc|roce4|..., qp N, psn N[-M], op send|write|read|response|ack|atomic|cnp, and take seed N.`,
	}
	c.AddCommand(faultAddCommand(), faultListCommand(), faultClearCommand())
	return c
}

func faultAddCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "add NODE:PORT FAULT",
		Short:   "add a fault",
		Example: "  rocelab fault add sw0:swp1 drop ipid 0xff --for 10ms",
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.MinimumNArgs(2)(c, args); err != nil {
				return err
			}
			_, err := faultOf(args)
			return err
		},
	}
	name := labFlag(c)
	at := c.Flags().Duration("at", -1, "virtual `time` since the lab's start; default: now")
	length := c.Flags().Duration("for", 0, "virtual `time` it lasts; 0: until cleared")
	c.RunE = func(c *cobra.Command, args []string) error {
		spec, err := faultOf(args)
		if err != nil {
			return err
		}
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		port, err := l.Port(args[0])
		if err != nil {
			return err
		}
		return addFault(c.Context(), c.OutOrStdout(), l, port, daemon.FaultRequest{Fault: spec,
			AtNs: at.Nanoseconds(), ForNs: length.Nanoseconds()})
	}
	return c
}

// faultOf reads NODE:PORT FAULT's second part, which may be many arguments.
func faultOf(args []string) (fault.Spec, error) { return fault.Parse(strings.Join(args[1:], " ")) }

// bothEnds is how far ahead, in virtual time, a fault begins that two daemons must be told of: more
// than a control call takes at real speed, so that it begins at both ends at the same time.
const bothEnds = 10 * time.Millisecond

func addFault(ctx context.Context, out io.Writer, l *labs.Lab, port lab.Endpoint,
	req daemon.FaultRequest) error {
	places, err := l.FaultAt(port, req.Fault)
	if err != nil {
		return err
	}
	if req.AtNs < 0 {
		req.AtNs = 0
		if len(places) > 1 {
			var st daemon.Status
			if err := call(ctx, l, port.Node, http.MethodGet, "/v1/status", nil, &st); err != nil {
				return err
			}
			req.AtNs = st.VirtualNs + bothEnds.Nanoseconds()
		}
	}
	for _, p := range places {
		req.Port = p.Device
		var added daemon.FaultAdded
		if err := call(ctx, l, p.Node, http.MethodPost, "/v1/fault", req, &added); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s:%d\t%v\t%v\n", p.Node, added.ID, p, req.Fault)
	}
	return nil
}

// faultRow is a fault of a lab, as the list prints it.
type faultRow struct {
	Node string `json:"node"`
	daemon.FaultStatus
}

func faultListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list faults, those that have ended as well",
		Args: cobra.NoArgs}
	name := labFlag(c)
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		rows := []faultRow{}
		for _, n := range l.Nodes {
			var list daemon.FaultList
			if err := call(c.Context(), l, n.Name, http.MethodGet, "/v1/fault", nil,
				&list); err != nil {
				return err
			}
			for _, f := range list.Faults {
				rows = append(rows, faultRow{n.Name, f})
			}
		}
		if *asJSON {
			return printJSON(c.OutOrStdout(), rows)
		}
		return faultTable(c.OutOrStdout(), rows)
	}
	return c
}

func faultTable(out io.Writer, rows []faultRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPORT\tFAULT\tSTATE\tFROM\tTO\tHITS")
	for _, r := range rows {
		end := "-"
		if r.EndNs != nil {
			end = time.Duration(*r.EndNs).String()
		}
		fmt.Fprintf(w, "%s:%d\t%s:%s\t%v\t%s\t%v\t%s\t%d\n", r.Node, r.ID, r.Node, r.Port, r.Fault,
			r.Phase, time.Duration(r.BeginNs), end, r.Hits)
	}
	return w.Flush()
}

func faultClearCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "clear [NODE:ID | NODE]...",
		Short: "end faults: by id, all of a node, or without arguments all of the lab",
	}
	name := labFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			for _, n := range l.Nodes {
				args = append(args, n.Name)
			}
		}
		cleared := 0
		for _, arg := range args {
			node, id, one := strings.Cut(arg, ":")
			req := daemon.FaultClear{}
			if one {
				if req.ID, err = strconv.Atoi(id); err != nil || req.ID <= 0 {
					return fmt.Errorf("%q: want NODE:ID, as fault list shows it", arg)
				}
			}
			var resp daemon.FaultCleared
			if err := call(c.Context(), l, node, http.MethodPost, "/v1/fault/clear", req,
				&resp); err != nil {
				return err
			}
			cleared += resp.Cleared
		}
		fmt.Fprintf(c.OutOrStdout(), "%d cleared\n", cleared)
		return nil
	}
	return c
}

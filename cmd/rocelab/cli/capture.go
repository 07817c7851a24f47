package cli

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/labs"
)

func captureCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "capture NODE[:PORT]",
		Short: "write frames of a running lab into a pcapng file",
		Long: `capture writes the frames of a port, or of all ports of a node, into a pcapng file
with their virtual times. Every port has two interfaces in the file, ingress and egress. A frame
that an injected fault did something to carries a comment; lost frames are there as well, where
they left.
In Wireshark: frame.comment contains "fault".

It ends with -c frames, after --for, or with Ctrl-C.`,
		Args: cobra.ExactArgs(1),
	}
	name := labFlag(c)
	file := c.Flags().StringP("write", "w", "", "`file` to write; default: NODE-PORT.pcapng")
	frames := c.Flags().Uint64P("count", "c", 0, "`frames` to write at most; 0: no limit")
	pfc := c.Flags().Bool("pfc", false, "PFC frames of all ports; of other frames only PORT's")
	length := c.Flags().Duration("for", 0, "virtual `time` to capture; 0: until interrupted")
	c.RunE = func(c *cobra.Command, args []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		node, port, one := strings.Cut(args[0], ":")
		if _, err := l.Node(node); err != nil {
			return err
		}
		req := daemon.CaptureRequest{PFC: *pfc, Frames: *frames, ForNs: length.Nanoseconds()}
		if req.Frames == 0 {
			req.Frames = 1 << 62
		}
		switch {
		case one:
			if _, err := l.Port(args[0]); err != nil {
				return err
			}
			req.Ports = []string{port}
		case !*pfc:
			req.Ports = l.Ports(node)
		}
		if *file == "" {
			*file = strings.ReplaceAll(args[0], ":", "-") + ".pcapng"
		}
		if req.Path, err = filepath.Abs(*file); err != nil {
			return err
		}
		return capture(c, l, node, req)
	}
	return c
}

// capture starts a capture, waits until it is over, and ends it also if interrupted.
func capture(c *cobra.Command, l *labs.Lab, node string, req daemon.CaptureRequest) error {
	if err := call(c.Context(), l, node, http.MethodPost, "/v1/capture", req, nil); err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "capturing on %s into %s\n", node, req.Path)
	waited := untilOver(c.Context(), l, node)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 10*time.Second)
	defer cancel()
	var res daemon.CaptureResult
	if err := call(ctx, l, node, http.MethodPost, "/v1/capture/stop", struct{}{},
		&res); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "%d frames in %s; %d dropped by the capture\n", res.Frames,
		req.Path, res.Dropped)
	return waited
}

// untilOver waits until the capture takes no more. Being interrupted is one way of being over.
func untilOver(ctx context.Context, l *labs.Lab, node string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var st daemon.CaptureStatus
		err := call(ctx, l, node, http.MethodGet, "/v1/capture", nil, &st)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case st.Over:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

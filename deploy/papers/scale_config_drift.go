package papers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/switchd"
)

func scaleConfigDrift() suite.Experiment {
	return suite.Experiment{
		ID: "scale-config-drift", Paper: atScale, Where: "sections 5.1 and 6.2",
		Modes: []suite.Mode{suite.Real}, Seeds: 1,
		Title: "A switch runs with alpha = 1/64 while 1/16 is desired: the drift is reported by " +
			"name and exported as a metric, until the configuration is read again.",
		Cells: func(suite.Options) []suite.Cell {
			return []suite.Cell{{Name: driftCell, Run: runDrift}}
		},
		Judge: judgeDrift,
	}
}

const driftCell = "alpha"

// alphaDrift is the field of the incident of section 6.2.
var alphaDrift = switchd.SetRequest{Table: "BUFFER_PROFILE", Key: "pg_lossless_profile",
	Field: "dynamic_th", Value: "1/64"}

// driftStages are what is done to the switch, in order.
var driftStages = []string{"as desired", "changed", "read again"}

func runDrift(ctx context.Context, env suite.Env) (out suite.Outcome, err error) {
	out = suite.Outcome{Cell: driftCell, Numbers: map[string]float64{}}
	t := fabric.Star("drift", 2, scaleLinks)
	*t.Switch.Lossless.DynamicTh = paperAlpha
	if t.MetricsPort, err = freePorts(len(t.Nodes) + 1); err != nil {
		return out, err
	}
	l, err := lab.Up(ctx, t, env.Log)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	l.Start()
	for _, stage := range driftStages {
		var changed switchd.ConfigResult
		switch stage {
		case "changed":
			err = l.Client("sw0").Call(ctx, http.MethodPost, "/v1/qos", alphaDrift, &changed)
		case "read again":
			err = l.Client("sw0").Call(ctx, http.MethodPost, "/v1/config",
				switchd.ConfigRequest{}, &changed)
		}
		if err != nil {
			return out, err
		}
		var d switchd.Drift
		if err := l.Client("sw0").Call(ctx, http.MethodGet, "/v1/drift", nil, &d); err != nil {
			return out, err
		}
		out.Numbers[stage] = float64(len(d.Differences))
		for _, diff := range d.Differences {
			out.Parameters = append(out.Parameters, result.Line{Name: "drift",
				Value: diff.String()})
			if diff.Table == alphaDrift.Table && diff.Key == alphaDrift.Key &&
				diff.Field == alphaDrift.Field {
				out.Numbers["named"]++
			}
		}
		if out.Numbers[stage+" metric"], err = scrape(ctx, t.MetricsPort,
			`switchd_config_drift{table="BUFFER_PROFILE"}`); err != nil {
			return out, err
		}
	}
	return out, nil
}

// scrape reads one metric of a daemon on the loopback.
func scrape(ctx context.Context, port int, series string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), series+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, errors.Join(fmt.Errorf("no metric %s", series), lines.Err())
}

// freePorts finds the first of n loopback ports in a row on which nobody listens now.
func freePorts(n int) (int, error) {
	const first, last = 20000, 30000
	for base := first; base+n <= last; base += n {
		free := 0
		for i := range n {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+i))
			if err != nil {
				break
			}
			l.Close()
			free++
		}
		if free == n {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d ports in a row are free from %d to %d", n, first, last)
}

func judgeDrift(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	out := byCell(found, driftCell)
	n := out.Numbers
	v.Claims = []suite.Claim{
		{Text: "what runs as desired has no drift", Ours: n["as desired"] + n["as desired metric"],
			Unit: "differences", Rule: "0, in the report and in the metric",
			Holds: len(n) > 0 && n["as desired"] == 0 && n["as desired metric"] == 0},
		{Text: "a changed alpha is reported by table, row and field", Ours: n["named"],
			Unit: "differences", Rule: "it alone", Holds: n["changed"] == 1 && n["named"] == 1},
		{Text: "and exported as a metric of its table", Ours: n["changed metric"],
			Unit: "fields", Rule: "1", Holds: n["changed metric"] == 1},
		{Text: "reading the desired configuration again ends it",
			Ours: n["read again"] + n["read again metric"], Unit: "differences",
			Rule: "0, in the report and in the metric", Holds: len(n) > 0 &&
				n["read again"] == 0 && n["read again metric"] == 0},
	}
	for _, l := range out.Parameters {
		v.Notes = append(v.Notes, "Reported: "+l.Value)
	}
	v.Notes = append(v.Notes, "The paper's service compares servers, too. A NIC of ours takes its "+
		"configuration once, at its start, so it cannot drift from it.")
	return v
}

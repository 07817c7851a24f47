package nicd

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/cc"
)

func someState(s *nic.Snapshot) error {
	*s = nic.Snapshot{}
	s.Counters.NPCNPSent = 7
	s.Traffic[3].Sent.Add(1000)
	s.Pause[3] = nic.PriorityPause{RxPause: 2, RxPauseDuration: 1500 * time.Millisecond}
	s.Pause[3].TxPause, s.Pause[3].TxPauseDuration = 4, 250*time.Millisecond
	s.Receive = nic.ReceiveView{Modelled: true, Stopped: true, Lossless: 3000, LossyMost: 70,
		DiscardedTotal: 9}
	s.Receive.Discarded[3].Frames = 9
	s.Ledger.Dropped[frame.DropICRC].Add(100)
	for i := range 3 {
		q := nic.QPView{QPN: 0x11, Rate: 8e9, CNPs: 5, CCValues: 1}
		q.QPN++
		q.CC[0] = cc.Value{Name: "alpha", Value: 0.25}
		if i == 0 {
			q.QPN--
		}
		s.QPs = append(s.QPs, q)
	}
	return nil
}

// scrape returns what Prometheus would see.
func scrape(t *testing.T, c *Collector) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h := promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// Names and units are as Prometheus wants them, and the values arrive.
func TestMetrics(t *testing.T) {
	c := NewCollector("host1", someState)
	c.PerQP = 1
	c.Completions = func(h *app.Histogram) error { h.Add(10 * time.Microsecond); return nil }
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	problems, err := testutil.GatherAndLint(reg)
	if n, err := testutil.GatherAndCount(reg); err != nil || n < 80 {
		t.Errorf("%d metrics, %v", n, err)
	}
	if err != nil || len(problems) != 0 {
		t.Errorf("%v %+v", err, problems)
	}
	const labels = `{device="host1",port="1"`
	text := scrape(t, c)
	for _, want := range []string{
		"nicd_np_cnp_sent_total" + labels + "} 7",
		"nicd_port_sent_bytes_total" + labels + `,priority="3"} 1000`,
		"nicd_pfc_receive_paused_seconds_total" + labels + `,priority="3"} 1.5`,
		"nicd_pfc_sent_frames_total" + labels + `,priority="3"} 4`,
		"nicd_pfc_send_paused_seconds_total" + labels + `,priority="3"} 0.25`,
		"nicd_rx_discards_phy_total" + labels + "} 9",
		"nicd_receive_discarded_packets_total" + labels + `,priority="3"} 9`,
		`nicd_receive_buffer_used_bytes{buffer="lossless",device="host1",port="1"} 3000`,
		`nicd_receive_buffer_watermark_bytes{buffer="lossy",device="host1",port="1"} 70`,
		"nicd_receive_pipeline_stopped" + labels + "} 1",
		"nicd_dropped_packets_total" + labels + `,reason="icrc"} 1`,
		"nicd_dcqcn_rate_bytes_per_second" + labels + `,qpn="0x000011"} 1e+09`,
		"nicd_dcqcn_alpha_ratio" + labels + `,qpn="0x000011"} 0.25`,
		"nicd_qp_rate_bytes_per_second_count" + labels + "} 3",
		"nicd_message_completion_seconds_bucket" + labels + `,le="1.6384e-05"} `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, `qpn="0x000012"`) {
		t.Error("more QPs than asked for have metrics of their own")
	}
}

// When the loop has ended, a scrape is empty rather than wrong.
func TestMetricsAfterTheEnd(t *testing.T) {
	c := NewCollector("h", func(*nic.Snapshot) error { return errors.New("ended") })
	if text := scrape(t, c); text != "" {
		t.Errorf("%s", text)
	}
}

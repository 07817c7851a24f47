package nicd

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/nicd/uverbs"
)

// What programs have, and QPs by state, are metrics.
func TestProgramMetrics(t *testing.T) {
	c := NewCollector("h", someState)
	c.Programs = func() (uverbs.Stats, error) {
		return uverbs.Stats{Programs: 2, Queues: 5, Regions: 3, CQs: 4, Memory: 8192, Killed: 1,
			Refused: 7}, nil
	}
	text := scrape(t, c)
	for _, want := range []string{
		`nicd_programs{device="h",port="1"} 2`, `nicd_program_qps{device="h",port="1"} 5`,
		`nicd_program_memory_bytes{device="h",port="1"} 8192`,
		`nicd_programs_killed_total{device="h",port="1"} 1`,
		`nicd_program_refused_requests_total{device="h",port="1"} 7`,
		`nicd_qps{device="h",port="1",state="sqd"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

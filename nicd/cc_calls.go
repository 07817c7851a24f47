package nicd

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// CCRequest changes the congestion control of a traffic class, of one QP, or with neither of the
// NIC. Without an algorithm a class has the NIC's again, and a QP that of its class.
type CCRequest struct {
	TC  *uint8  `json:"tc,omitempty"`
	QPN *ib.QPN `json:"qpn,omitempty"`
	CCConfig
}

// CCStatus is the answer to GET /v1/cc: the NIC's choice, those of traffic classes, and those of
// single queue pairs.
type CCStatus struct {
	Choices []CCChoice `json:"choices"`
}

// CCChoice is one choice of congestion control.
type CCChoice struct {
	TC        *uint8  `json:"tc,omitempty"`
	QPN       *ib.QPN `json:"qpn,omitempty"`
	Algorithm string  `json:"algorithm"` // empty: a program's choice
	Preset    string  `json:"preset,omitempty"`
	// Parameters are all of the algorithm, with their values.
	Parameters []daemon.Parameter `json:"parameters,omitempty"`
	QPs        int                `json:"qps"` // reliable connections that follow it
}

func (c *CCChoice) String() string {
	switch {
	case c.QPN != nil:
		return fmt.Sprintf("qp %v", *c.QPN)
	case c.TC != nil:
		return fmt.Sprintf("tc %d", *c.TC)
	}
	return "nic"
}

// ownCC is an operator's choice for one QP.
type ownCC struct {
	choice CCConfig
	params cc.Params // by which the QP is known to be still the same
}

func (s *verbs) handleCC(mux *http.ServeMux) {
	daemon.Handle(mux, "POST /v1/cc", s.setCC)
	daemon.Handle(mux, "GET /v1/cc", s.ccStatus)
}

// setCC changes congestion control while queue pairs send.
func (s *verbs) setCC(r CCRequest) (none struct{}, err error) {
	var params cc.Params
	switch {
	case r.TC != nil && r.QPN != nil:
		return none, errors.New("tc and qpn: want one of them, or neither for the NIC")
	case r.Algorithm != "":
		r.Params = whole(r.Params)
		var faults []daemon.Fault
		if params, faults = r.resolve("cc"); len(faults) != 0 {
			return none, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
		}
	case r.TC == nil && r.QPN == nil:
		return none, errors.New("algorithm: is missing")
	}
	return none, s.do(func(now unit.Time) error { return s.change(now, &r, params) })
}

// whole gives back to the integers of a request what JSON has made of them.
func whole(params map[string]any) map[string]any {
	for key, v := range params {
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			params[key] = int64(f)
		}
	}
	return params
}

// change puts a choice into force, and keeps it for whoever asks.
func (s *verbs) change(now unit.Time, r *CCRequest, params cc.Params) error {
	n := s.host.NIC()
	switch {
	case r.QPN != nil:
		if err := n.SetQPCC(now, *r.QPN, params); err != nil {
			return err
		}
		delete(s.own, *r.QPN)
		if params != nil {
			s.own[*r.QPN] = ownCC{r.CCConfig, params}
		}
	case r.TC != nil:
		if err := n.SetClassCC(now, pfc.Priority(*r.TC), params); err != nil {
			return err
		}
		classes := maps.Clone(s.c.TCToCCMap) // which NICs of one lab may share
		if params == nil {
			delete(classes, *r.TC)
		} else {
			classes[*r.TC] = r.CCConfig
		}
		s.c.TCToCCMap = classes
	default:
		if err := n.SetCC(now, params); err != nil {
			return err
		}
		s.c.CC = r.CCConfig
	}
	return nil
}

func (s *verbs) ccStatus(struct{}) (st CCStatus, err error) {
	err = s.do(func(unit.Time) error {
		st.Choices = s.choices()
		return nil
	})
	return st, err
}

// choices are those in force, with how many queue pairs follow each.
func (s *verbs) choices() []CCChoice {
	n := s.host.NIC()
	cfg := n.Config()
	of := make(map[cc.Params]int)
	for _, qpn := range n.Connections() {
		params, _ := n.CC(qpn)
		of[params]++
	}
	var list []CCChoice
	add := func(c CCChoice, from CCConfig, params cc.Params) {
		c.Algorithm, c.Preset, c.QPs = from.Algorithm, from.preset(), of[params]
		c.Parameters = appendParameters(nil, "", params)
		delete(of, params)
		list = append(list, c)
	}
	add(CCChoice{}, s.c.CC, cfg.CC)
	for _, tc := range slices.Sorted(maps.Keys(s.c.TCToCCMap)) {
		add(CCChoice{TC: &tc}, s.c.TCToCCMap[tc], cfg.ClassCC[tc])
	}
	for _, qpn := range slices.Sorted(maps.Keys(s.own)) {
		if params, _ := n.CC(qpn); params != s.own[qpn].params {
			delete(s.own, qpn) // it is gone
			continue
		}
		add(CCChoice{QPN: &qpn}, s.own[qpn].choice, s.own[qpn].params)
	}
	for _, qpn := range n.Connections() { // what is left are choices of programs
		if params, _ := n.CC(qpn); of[params] > 0 {
			list = append(list, CCChoice{QPN: &qpn, QPs: 1,
				Parameters: appendParameters(nil, "", params)})
		}
	}
	return list
}

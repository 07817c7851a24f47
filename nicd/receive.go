package nicd

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
)

// ReceiveConfig models the receive side: a buffer and a pipeline that takes time. Without a buffer
// nothing is modelled, and the NIC pauses nobody.
type ReceiveConfig struct {
	Buffer     unit.Bytes    `yaml:"buffer"` // of the priorities in pfc_enable
	Lossy      unit.Bytes    `yaml:"lossy_buffer"`
	XOFF       unit.Bytes    `yaml:"xoff"`
	XON        unit.Bytes    `yaml:"xon"`
	Quanta     uint16        `yaml:"quanta"`
	PacketTime time.Duration `yaml:"packet_time"`
	Rate       unit.Rate     `yaml:"rate"`
	MTT        MTTConfig     `yaml:"mtt"`
	Watchdog   time.Duration `yaml:"watchdog"`
}

// MTTConfig is the cache of address translations.
type MTTConfig struct {
	Entries  int           `yaml:"entries"`
	PageSize unit.Bytes    `yaml:"page_size"`
	MissCost time.Duration `yaml:"miss_cost"`
}

func (c *ReceiveConfig) machine() nic.ReceiveConfig {
	return nic.ReceiveConfig{Buffer: c.Buffer, Lossy: c.Lossy, XOFF: c.XOFF, XON: c.XON,
		Quanta: c.Quanta, PacketTime: c.PacketTime, Rate: c.Rate,
		MTT: nic.MTTConfig(c.MTT), Watchdog: c.Watchdog}
}

// waiting is how many frames can wait for the pipeline, all of the smallest size.
func waiting(c *nic.ReceiveConfig) int {
	return int((c.Buffer + c.Lossy) / wire.MinFrame)
}

// ReceiveRequest stops the receive pipeline, or lets it go on.
type ReceiveRequest struct {
	Stopped bool  `json:"stopped"`
	AtNs    int64 `json:"at_ns,omitempty"` // when; 0: now
}

// ReceiveStatus is the answer to GET /v1/receive.
type ReceiveStatus struct {
	Modelled      bool   `json:"modelled"`
	Stopped       bool   `json:"stopped"`
	PauseDisabled string `json:"pause_disabled"` // priorities, as "3,4", by the watchdog
	// PauseDisabledAtNs is when it did that last.
	PauseDisabledAtNs int64  `json:"pause_disabled_at_ns"`
	WaitingFrames     int    `json:"waiting_frames"`
	LosslessBytes     int64  `json:"lossless_bytes"`
	LossyBytes        int64  `json:"lossy_bytes"`
	ServedFrames      uint64 `json:"served_frames"`
	// Discarded are frames for which there was no room.
	DiscardedFrames uint64 `json:"discarded_frames"`
	// Watermarks since the start.
	LosslessMostBytes int64 `json:"lossless_most_bytes"`
	LossyMostBytes    int64 `json:"lossy_most_bytes"`
}

func (s *verbs) receive(r ReceiveRequest) (struct{}, error) {
	switchOver := func(now unit.Time) error {
		if r.Stopped {
			return s.host.NIC().StopReceiving(now)
		}
		return s.host.StartReceiving(now)
	}
	if r.AtNs == 0 {
		return struct{}{}, s.do(switchOver)
	}
	if err := s.do(func(now unit.Time) error {
		switch {
		case !s.host.NIC().Receiving().Modelled:
			return nic.ErrNoPipeline
		case unit.Time(r.AtNs) <= now:
			return fmt.Errorf("at_ns: %d is past: it is %d", r.AtNs, int64(now))
		}
		return nil
	}); err != nil {
		return struct{}{}, err
	}
	// The first multiple of the time is the time itself, because it has not come yet.
	return struct{}{}, s.run.Every(time.Duration(r.AtNs), func(now unit.Time) bool {
		_ = switchOver(now) // there is a pipeline, and nothing else can be wrong
		return false
	})
}

// restorePause lets the NIC pause again after its watchdog has forbidden it.
func (s *verbs) restorePause(struct{}) (struct{}, error) {
	return struct{}{}, s.do(s.host.NIC().RestorePause)
}

func (s *verbs) receiveStatus(struct{}) (st ReceiveStatus, err error) {
	err = s.do(func(unit.Time) error {
		v := s.host.NIC().Receiving()
		st = ReceiveStatus{Modelled: v.Modelled, Stopped: v.Stopped,
			PauseDisabled:     v.PauseDisabled.String(),
			PauseDisabledAtNs: int64(v.PauseDisabledAt), WaitingFrames: v.Waiting,
			LosslessBytes: int64(v.Lossless), LossyBytes: int64(v.Lossy), ServedFrames: v.Served,
			DiscardedFrames: v.DiscardedTotal, LosslessMostBytes: int64(v.LosslessMost),
			LossyMostBytes: int64(v.LossyMost)}
		return nil
	})
	return st, err
}

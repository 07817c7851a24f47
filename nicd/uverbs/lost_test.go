package uverbs

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// stopped is a driver whose loop has ended, which its program does not know yet.
type stopped struct{ direct }

func (*stopped) Do(func(unit.Time)) error               { return loop.ErrStopped }
func (*stopped) Attach(int, func(unit.Time) bool) error { return loop.ErrStopped }

// A call that meets the stopping loop ends the connection, so that the program sees the daemon go
// and not an error of the call.
func TestCallMeetsStoppingLoop(t *testing.T) {
	v := newVictim(t)
	v.cfg.Driver = &stopped{}
	for name, body := range map[string]any{
		abi.CallQuery:     nil,
		abi.CallCreateCQ:  abi.CreateCQ{Depth: 1},
		abi.CallRegister:  abi.Register{PD: 1, Size: 4096},
		abi.CallDestroyQP: abi.Handle{Handle: 5},
	} {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := json.Marshal(abi.Request{ID: 1, Call: name, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		waiting := len(v.other.out)
		if err := v.other.handle(msg); !errors.Is(err, errLost) {
			t.Errorf("%s: %v, want the connection's end", name, err)
		}
		if len(v.other.out) != waiting {
			t.Errorf("%s is answered", name)
		}
	}
	v.cfg.Driver = &v.driver // for who cleans up
}

package interop

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Bounds of what waits. On a machine with nothing else to do a case takes one to four seconds and a
// step of it a tenth of one; the guest is emulated, and slow when the machine is.
const (
	caseTime = 60 * time.Second
	stepTime = 20 * time.Second
)

// within is a context for one step of a test, or of its cleanup, before which its own ends.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// The harness itself: the guest has an rxe device with the path MTU that fits, executes many
// commands at a time, tells their status and output, and ends what is killed.
func TestGuest(t *testing.T) {
	s := at(t, 1500)
	ctx := within(t, caseTime)
	long, err := s.guest.Start("echo begun; sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	if err := long.Says(ctx, "begun\n"); err != nil {
		t.Fatal(err)
	}
	info, err := s.guest.Run(ctx, "ibv_devinfo -d rxe0")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PORT_ACTIVE", "active_mtu:\t\t1024"} {
		if !strings.Contains(info, want) {
			t.Errorf("no %q in:\n%s", want, info)
		}
	}
	if _, err := s.guest.Run(ctx, "exit 7"); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("exit 7: %v", err)
	}
	long.Kill()
	if _, err := long.Wait(ctx); err == nil || long.Status() != 137 {
		t.Errorf("killed: status %d, %v", long.Status(), err)
	}
	// The kernels see each other through nicd's port.
	for _, to := range []string{ours4, ours6} {
		if out, err := s.guest.Run(ctx, "ping -c 1 -W 5 "+to); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

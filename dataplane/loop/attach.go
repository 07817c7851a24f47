package loop

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// guest is a descriptor of somebody else's that the loop polls together with its wires.
type guest struct {
	fd    int
	fn    func(now unit.Time) (keep bool)
	ready bool // readable, or in error, when the loop slept last
}

// Poller is work that reaches the loop's thread by shared memory: somebody who wants to be looked
// after while the loop is awake, and to be asked before it sleeps.
type Poller interface {
	// Poll runs once a turn and does what there is to do. It may use the device; if it says that
	// it worked, whatever it changed there is noticed.
	Poll(t Turn) (worked bool)
	// Rest is called when the loop is about to sleep. Whoever has work for the poller from here
	// on must wake the loop, by a descriptor that is attached. False: there is work already, and
	// the loop does not sleep.
	Rest() bool
}

// Turn is the time of one turn of the loop.
type Turn struct {
	Now   unit.Time // up to when the device has run
	Clock unit.Time // what the lab's clock showed when the turn began
	Mono  int64     // CLOCK_MONOTONIC at that moment
	Speed float64   // virtual seconds per second, at present
}

// Attach polls fd together with the wires. When it is readable, or in error, fn runs on the loop's
// thread; it may use the device. fn takes what there is to read, without blocking, and reports
// whether fd is to stay; the loop never closes it.
func (l *Loop) Attach(fd int, fn func(now unit.Time) (keep bool)) error {
	return l.Do(func(unit.Time) { l.guests = append(l.guests, guest{fd: fd, fn: fn}) })
}

// Detach undoes Attach. It does nothing if fd is not attached.
func (l *Loop) Detach(fd int) error {
	return l.Do(func(unit.Time) {
		for i := range l.guests {
			if l.guests[i].fd == fd {
				l.guests = append(l.guests[:i], l.guests[i+1:]...)
				return
			}
		}
	})
}

// Serve has the loop look after p from now on. A loop has one poller.
func (l *Loop) Serve(p Poller) (err error) {
	lost := l.Do(func(unit.Time) {
		if l.poller != nil {
			err = fmt.Errorf("the loop has a poller already")
			return
		}
		l.poller = p
	})
	if lost != nil {
		return lost
	}
	return err
}

// visit runs the guests that are ready and the poller. It reports whether the poller worked, which
// is likely to have more to do soon.
func (l *Loop) visit() (worked bool) {
	called := false
	for i := 0; i < len(l.guests); i++ {
		if !l.guests[i].ready {
			continue
		}
		l.guests[i].ready, called = false, true
		if !l.guests[i].fn(l.now) {
			l.guests = append(l.guests[:i], l.guests[i+1:]...)
			i--
		}
	}
	if l.poller != nil {
		worked = l.poller.Poll(Turn{Now: l.now, Clock: l.clock, Mono: l.mono,
			Speed: l.cfg.Clock.Speed()})
	}
	if called || worked {
		l.node.Settle()
	}
	return worked
}

// lookEvery is how many turns without sleep pass until the guests are looked at all the same: a
// system call costs a fraction of such a turn, and a guest waits for a fraction of a millisecond.
const lookEvery = 64

// look takes the place of a sleep that there is no time for.
func (l *Loop) look() error {
	if len(l.guests) == 0 || l.stats.Turns%lookEvery != 0 {
		return nil
	}
	return l.nap(0)
}

// pollGuests appends the guests to what the loop polls.
func (l *Loop) pollGuests(polls []unix.PollFd) []unix.PollFd {
	for i := range l.guests {
		polls = append(polls, unix.PollFd{Fd: int32(l.guests[i].fd), Events: unix.POLLIN})
	}
	return polls
}

// heard notes which guests are ready, of those that were polled.
func (l *Loop) heard(polls []unix.PollFd) {
	for i := range polls {
		l.guests[i].ready = polls[i].Revents != 0
	}
}

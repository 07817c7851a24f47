package lab

import (
	"os"
	"sync"
)

// living are the labs of this process that have or may have something in the kernel. The lock is
// held while namespaces and processes are made or removed, and for good by Abandon.
var living = struct {
	sync.Mutex
	labs map[*Lab]bool
}{labs: make(map[*Lab]bool)}

// settle puts a lab among the living, or takes it out.
func (l *Lab) settle(lives bool) {
	living.Lock()
	defer living.Unlock()
	if lives {
		living.labs[l] = true
	} else {
		delete(living.labs, l)
	}
}

// Abandon kills the daemons of all labs of this process and removes what it can of these. It is for
// a process that ends at once, whatever else it does: after it no lab can be made or closed any
// more, and who tries waits for the end.
func Abandon() {
	living.Lock() // and nobody unlocks it
	for l := range living.labs {
		for _, p := range l.procs {
			_ = p.cmd.Process.Kill() // an error means that it has ended already
		}
		for _, p := range l.procs {
			<-p.done
		}
		// What cannot be removed is in the lab's folder then, for the next "up" or "down".
		if l.net.delete() == nil {
			_ = os.RemoveAll(l.Dir)
		}
	}
	_ = os.Remove(RunDir) // fails, as it should, while other labs are there
}

// launch starts a daemon that Abandon will find.
func (l *Lab) launch(node, kind, config string) (*process, error) {
	living.Lock()
	defer living.Unlock()
	p, err := l.launcher.start(node, kind, config, l.Logs(node))
	if err == nil {
		l.procs = append(l.procs, p)
	}
	return p, err
}

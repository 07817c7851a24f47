package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tool is one of our commands with what it talks to in the guest: the same options mean the same
// to both.
type tool struct {
	name   string // for the test
	ours   string // arguments of rocelab
	theirs string // command in the guest; for {...} see words
	cm     bool   // they meet over RDMA, not over TCP
	want   string // our output contains it
	ready  string // and this, when our server listens
	// What tells a program its role, behind its options.
	server, client string
	packets        ends // addresses; zero is four
	allow          tolerance
}

// overSix is the tool with IPv6 packets.
func (c tool) overSix() tool {
	c.name += " IPv6"
	c.packets = six
	if strings.HasPrefix(c.ours, "perf") {
		c.ours += " --ipv6"
	}
	return c
}

// The timeouts as an option of either end.
var (
	patient   = fmt.Sprint(" -u ", patientTimeout)
	impatient = fmt.Sprint(" -u ", lossyTimeout)
)

// perftest is one of its programs, over TCP or over the connection manager. A receive queue of the
// guest may be dry when we are faster than it posts, which is what RNR NAKs are for; ours never is.
func perftest(name, options string, cm bool) tool {
	options = " -F " + options
	t := tool{name: name, ours: "perf " + name + options, want: " Test", cm: cm, client: " {tcp}",
		theirs: "ib_" + name + " -d rxe0 -x {gid}" + options, ready: "Waiting for client"}
	if strings.HasPrefix(name, "send") || cm {
		t.allow.dry = true
	}
	if cm {
		t.name += " -R"
		t.ours += " -R"
		t.theirs = strings.Replace(t.theirs, "-x {gid}", "-R", 1)
	}
	// The connection manager sets timers of its own, of half a second.
	t.allow.slow = cm || !strings.Contains(options, patient)
	return t
}

func perftests() (all []tool) {
	for _, name := range []string{"send_bw", "write_bw", "read_bw", "atomic_bw", "send_lat",
		"write_lat", "read_lat", "atomic_lat"} {
		options := "-n 40" + patient
		if !strings.HasPrefix(name, "atomic") {
			options += " -s 10001"
		}
		all = append(all, perftest(name, options, false), perftest(name, options, true))
	}
	return all
}

// pingpong is an example of libibverbs. All use a timeout of 67 ms, for which the guest is too slow
// at times.
func pingpong(kind, ours, options string) tool {
	return tool{name: kind + "_pingpong", want: " iters in", ready: "local address",
		ours:   "perf pingpong " + ours + options,
		theirs: "ibv_" + kind + "_pingpong -d rxe0 -g {gid}" + options,
		client: " {tcp}", allow: tolerance{slow: true}}
}

// pingpongs compare what comes back where we are the client (--check); the programs cannot.
func pingpongs() []tool {
	// ibv_srq_pingpong has one buffer, which all its receives fill and all its queue pairs send
	// from (srq_pingpong.c, pp_post_recv and pp_post_send). So what one queue pair sends back may
	// be what another has received. What one alone sends back can be compared.
	one := pingpong("srq", "--srq --check", " -m {mtu} -n 60 -s 10001 -q 1 -r 8")
	one.name += " -q 1"
	// It counts the messages of all its queue pairs and leaves with the last, when others of its 16
	// still have one on its way.
	all := pingpong("srq", "--srq", " -m {mtu} -n 60")
	all.allow.late = 16
	return []tool{
		pingpong("rc", "--check", " -m {mtu} -n 60 -s 10001"),
		pingpong("ud", "--ud --check", " -n 60 -s 1000"),
		one,
		all,
	}
}

// pings compare what the server has read and written back, 10 times.
func pings() []tool {
	const options = " -C 10 -v -V -S 5000"
	t := tool{name: "rping", ours: "ping -d" + options, theirs: "rping" + options, cm: true,
		server: " -s -a {own}", client: " -c -a {peer}",
		want: "rdma-ping-9: ", ready: "listening on port",
		allow: tolerance{dry: true, slow: true}}
	return []tool{t, t.overSix()}
}

// Our commands against the real programs, as client and as server.
func TestTools(t *testing.T) {
	s := at(t, 1500)
	s.tools(t, slices.Concat(perftests(), pingpongs(), pings()))
}

// Jumbo frames and IPv6, both at once.
func TestToolsJumbo(t *testing.T) {
	s := at(t, 4500)
	s.tools(t, append(jumbo(patient), pingpongs()[0].overSix()))
}

// jumbo are some programs with long packets over IPv6. They leave when both ends have said that
// they have all; a ping-pong leaves with its last message, whose acknowledgement nobody can repeat.
func jumbo(timeout string) (all []tool) {
	all = append(all, perftest("write_bw", "-n 40 -s 20001"+timeout, false),
		perftest("read_bw", "-n 40 -s 20001"+timeout, false),
		perftest("send_bw", "-n 40 -s 20001"+timeout, false),
		perftest("atomic_lat", "-n 100"+timeout, false))
	for i := range all {
		all[i] = all[i].overSix()
	}
	return all
}

func (s *station) tools(t *testing.T, all []tool) {
	for _, c := range all {
		for _, client := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s client=%v", c.name, client), func(t *testing.T) {
				s.judge(t, c.allow)
				s.tool(t, c, client)
			})
		}
	}
}

package perftest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/rdma/rdmatest"
)

// dying is an exchange whose program ends, or says nothing any more, at one of its steps: the
// device is closed as the end of a process closes it, and the TCP connection with it.
type dying struct {
	exchange
	steps int
	kill  func()
}

var errKilled = errors.New("killed")

func (d *dying) step() error {
	if d.steps--; d.steps < 0 {
		d.kill()
		return errKilled
	}
	return nil
}

func (d *dying) swap(out, in []byte) error {
	if err := d.step(); err != nil {
		return err
	}
	return d.exchange.swap(out, in)
}

func (d *dying) keys(own Keys) (Keys, error) {
	if err := d.step(); err != nil {
		return Keys{}, err
	}
	return d.exchange.keys(own)
}

// A client that is killed at any step of the exchange, over TCP and over the connection manager,
// ends the server at once, and the server says that the peer is gone and what it waited for.
func TestClientKilledAtEachStep(t *testing.T) {
	paths := rdmatest.NewPair(t)
	for _, line := range []string{"write_bw -n 20 -s 64", "read_lat -n 20", "send_bw -n 20 -s 64",
		"write_bw -R -n 20 -s 64", "atomic_lat -R -n 20"} {
		for steps := range 12 {
			t.Run(fmt.Sprintf("%s step %d", line, steps), func(t *testing.T) {
				client, server := killAt(t, paths, line, steps)
				if client == nil {
					return // it was through
				}
				if server == nil {
					t.Fatal("the server did not notice")
				}
				text := server.Error()
				if !strings.Contains(text, "closed the connection") &&
					!strings.Contains(text, "does not answer") || errors.Is(server, errSilent) ||
					!strings.Contains(text, ": ") {
					t.Errorf("client %v\nserver %v", client, server)
				}
			})
		}
	}
}

// killAt runs both ends; the client dies at a step.
func killAt(t *testing.T, paths [2]string, line string, steps int) (client, server error) {
	t.Helper()
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	end := func(side int, line string, port uint16) (*session, *rdma.Device) {
		d, err := rdma.Open(paths[side])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		c, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		c.Port, c.Patience = port, 20*time.Second
		return &session{c: c, nic: device{d}, report: &table{c: c, w: io.Discard}}, d
	}
	port := freePort(t)
	s, sd := end(1, line+" -u 8", port)
	s.listening = func(a net.Addr) { ready <- a }
	go func() { err := s.run(t.Context()); sd.Close(); done <- err }()
	<-ready
	host := " 127.0.0.1"
	if strings.Contains(line, "-R") {
		host = " 10.0.0.2"
	}
	c, cd := end(0, line+" -u 8"+host, port)
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	if err := c.meet(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.x = &dying{c.x, steps, func() {
		cd.Close()
		if x, ok := c.x.(*dying).exchange.(*tcp); ok {
			x.conn.Close()
		}
	}}
	return c.run(t.Context()), <-done
}

// A client that is there and says nothing is given up after the patience, in the words of the step.
func TestSilentClient(t *testing.T) {
	a, b := pair(t)
	c, err := parse("write_bw -n 20 -s 64")
	if err != nil {
		t.Fatal(err)
	}
	c.Patience = 50 * time.Millisecond
	s := session{c: c, nic: newWorld(testRate, testDelay).nics[0], x: newTCP(t.Context(), a, false)}
	var out bytes.Buffer
	err = s.print(t.Context(), Table, &out)
	if !errors.Is(err, errSilent) || !strings.Contains(err.Error(), "exchange versions") {
		t.Errorf("%v", err)
	}
	b.Close()
}

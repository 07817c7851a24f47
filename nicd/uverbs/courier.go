package uverbs

import (
	"encoding/json"
	"sync"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// courier carries events that must not be lost from the loop's thread, which does not wait, to the
// program, which may be slow. How many there are is bounded by the connections that they are
// about; a program that does not read at all is ended by the writer.
type courier struct {
	mu    sync.Mutex
	items [][]byte
	wake  chan struct{}
}

// report queues an event that the program will get.
func (p *program) report(event string, body any) {
	b, err := json.Marshal(body)
	if err == nil {
		b, err = json.Marshal(abi.Response{Event: event, Body: b})
	}
	if err != nil {
		p.kill("an event cannot be written: " + err.Error())
		return
	}
	c := &p.courier
	c.mu.Lock()
	c.items = append(c.items, b)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // it is awake already
	}
}

// carry hands the events to the writer until the connection ends.
func (p *program) carry() {
	c := &p.courier
	for {
		select {
		case <-c.wake:
		case <-p.ctx.Done():
			return
		}
		c.mu.Lock()
		items := c.items
		c.items = nil
		c.mu.Unlock()
		for _, b := range items {
			select {
			case p.out <- message{body: b}:
			case <-p.ctx.Done():
				return
			}
		}
	}
}

package suite

import (
	"bytes"
	"io"
	"sync"
)

// screen lets a line that is drawn again and again and lines that stay share a terminal: a line
// that stays takes the place of the drawn one, which is drawn anew below.
type screen struct {
	out   io.Writer
	mu    sync.Mutex
	drawn string // what stands in the last line
	part  []byte // of a line that stays, whose end has not come yet
}

// eraseLine empties the line of the cursor and goes to its begin: ECMA-48 8.3.15 and 8.3.41.
const eraseLine = "\r\x1b[K"

// draw replaces the last line.
func (s *screen) draw(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.put(nil, line) // nobody is told of a line that is not seen
}

// Write takes lines that stay.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, p...)
	end := bytes.LastIndexByte(s.part, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	err := s.put(s.part[:end], s.drawn)
	s.part = append(s.part[:0], s.part[end:]...)
	return len(p), err
}

// put writes lines that stay and the one that does not. It is one write, so that nothing of others
// comes in between.
func (s *screen) put(lines []byte, drawn string) error {
	b := make([]byte, 0, 2*len(eraseLine)+len(lines)+len(drawn))
	if s.drawn != "" {
		b = append(b, eraseLine...)
	}
	b = append(append(b, lines...), drawn...)
	s.drawn = drawn
	_, err := s.out.Write(b)
	return err
}

// close erases the last line, and leaves what was begun of one that stays.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.put(s.part, "")
	s.part = nil
}

package capture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
)

func TestFramesComeBackAsTheyWere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	c, err := Start(path, []Interface{{Name: "swp1:ingress"}, {Name: "swp1:egress"}},
		Options{Frames: 5, Snap: 100, Ring: 16})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 { // two more than it may take
		c.Record(1_000_000_007*1000+100, i%2, bytes.Repeat([]byte{byte(i)}, 60+20*i),
			[]string{"", "note"}[i%2])
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		data, info, opts, err := r.ReadPacketDataWithOptions()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(opts.Comments); n != i%2 || (n == 1 && opts.Comments[0] != "note") {
			t.Errorf("frame %d: comments %q", i, opts.Comments)
		}
		size := 60 + 20*i
		if info.Length != size || len(data) != min(size, 100) || data[0] != byte(i) ||
			info.InterfaceIndex != i%2 {
			t.Errorf("frame %d: %d of %d bytes on interface %d", i, len(data), info.Length,
				info.InterfaceIndex)
		}
		if want := time.Unix(0, 1_000_000_007_100); !info.Timestamp.Equal(want) {
			t.Errorf("frame %d at %v, want %v", i, info.Timestamp, want)
		}
	}
	if _, _, err := r.ReadPacketData(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
	if in, err := r.Interface(1); err != nil || in.Name != "swp1:egress" {
		t.Errorf("interface 1 is %q, %v", in.Name, err)
	}
}

func TestAFullRingIsCountedAndNotWaitedFor(t *testing.T) {
	c, err := Start(filepath.Join(t.TempDir(), "x.pcapng"), []Interface{{Name: "a"}},
		Options{Frames: 1 << 40, Snap: 60, Ring: 16})
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 60)
	const frames = 200_000
	for range frames {
		c.Record(0, 0, frame, "")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if taken := c.head.Load(); taken+c.Dropped.Load() != frames || taken != c.tail.Load() {
		t.Errorf("%d taken, %d written, %d dropped, of %d", taken, c.tail.Load(), c.Dropped.Load(),
			frames)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	c, err := Start(filepath.Join(t.TempDir(), "x.pcapng"), []Interface{{Name: "a"}},
		Options{Frames: 1 << 40, Ring: 4096})
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 1082)
	// Fewer than wake the writer, whose allocations would count too.
	if n := testing.AllocsPerRun(500, func() { c.Record(0, 0, frame, "") }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUnwritablePathIsNamed(t *testing.T) {
	if _, err := Start("/nonexistent/x.pcapng", nil, Options{}); err == nil {
		t.Error("no error")
	}
}

package accept

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

func TestMemoryLimitIsExplained(t *testing.T) {
	labName(t)
	out, err := exec.Command("sh", "-c", "ulimit -l 64 && exec setpriv --bounding-set=-ipc_lock "+
		filepath.Join(bin, "rocelab")+" doctor").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "locked-memory limit is 65536 bytes") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTakenMetricsPortEndsTheLab(t *testing.T) {
	lab := labName(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	code, _, errs := run(t, "rocelab", short(lab, t.TempDir(), "--metrics-port",
		strconv.Itoa(port))...)
	if code != 3 || !strings.Contains(errs, "metrics endpoint") ||
		!strings.Contains(errs, "address already in use") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	nothingLeft(t, lab)
}

// spoiled returns valid frames with random bytes changed, cut short or made longer.
func spoiled(rng *rand.Rand) []byte {
	const src, dst = wiretest.MACOrNumber(1), wiretest.MACOrNumber(2)
	kinds := [][]byte{
		wiretest.Packet{Src: src, Dst: dst, DSCP: 26, Payload: 100}.Bytes(),
		wiretest.Packet{Src: src, Dst: dst, V6: true, Payload: 100}.Bytes(),
		wiretest.PFC(src, map[uint8]uint16{3: 100}),
	}
	f := append([]byte(nil), kinds[rng.IntN(len(kinds))]...)
	for range rng.IntN(4) {
		f[12+rng.IntN(len(f)-12)] = byte(rng.Uint32())
	}
	if rng.IntN(2) == 0 {
		f = f[:14+rng.IntN(len(f)-14)]
	}
	return f
}

func TestMalformedFramesAreCountedAndNothingElse(t *testing.T) {
	lab, c := upStar(t)
	const seed, frames = 7, 2000
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	err := netspace.Do(lab+"-h1", func() error { return inject("eth0", rng, frames) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var st daemon.Status
	for st.Ledger.Received.Frames < frames {
		if err := get(ctx, lab, "sw0", &st); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the switch has received %d of %d", st.Ledger.Received.Frames, frames)
		case <-tick.C:
		}
	}
	if st.Ledger.Dropped["malformed"].Frames == 0 || st.Ledger.Fault != "" {
		t.Errorf("ledger %+v", st.Ledger)
	}
	for _, host := range []string{"h1", "h2", "h3", "h4"} {
		if err := get(ctx, lab, host, &st); err != nil || st.Ledger.Fault != "" {
			t.Errorf("%s: %v, ledger %+v", host, err, st.Ledger)
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}

func get(ctx context.Context, lab, node string, st *daemon.Status) error {
	c := daemon.NewClient("/run/rocelab/" + lab + "/" + node + ".sock")
	defer c.Close()
	return c.Call(ctx, http.MethodGet, "/v1/status", nil, st)
}

// inject sends spoiled frames from a device, in bursts that the rings can take.
func inject(device string, rng *rand.Rand, frames int) error {
	dev, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Ifindex: dev.Attrs().Index}
	for range frames {
		if err := unix.Sendto(fd, spoiled(rng), 0, to); err != nil {
			return err
		}
	}
	return nil
}

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rocelab/rocelab/tests/interop/guest"
	"github.com/rocelab/rocelab/tests/interop/guest/line"
	"github.com/rocelab/rocelab/tests/require"
)

// listens waits until somebody listens at perftest's port, as /proc has it.
const listens = `eventually() { for i in $(seq 300); do "$@" && return; sleep 0.2; done; return 1; }
listening() { cat /proc/net/tcp /proc/net/tcp6 | grep -q ':4853 [0-9A-F:]* 0A'; }
listens() { eventually listening; }
`

// rxe between the two ends of a veth in one namespace: its devices do not cross namespaces. The
// rules send what is for the other end over the wire, although its address is local.
const rxeOverVeth = listens + `set -e
ip link add va type veth peer name vb
ip addr add 10.8.0.1/24 dev va; ip addr add 10.8.0.2/24 dev vb
ip link set va up; ip link set vb up
for d in all va vb; do echo 1 > /proc/sys/net/ipv4/conf/$d/accept_local; done
for d in all va vb; do echo 0 > /proc/sys/net/ipv4/conf/$d/rp_filter; done
mac() { cat /sys/class/net/$1/address; }
ip neigh replace 10.8.0.2 lladdr $(mac vb) dev va
ip neigh replace 10.8.0.1 lladdr $(mac va) dev vb
ip rule add pref 1 iif va lookup local
ip rule add pref 1 iif vb lookup local
ip route add 10.8.0.2 dev va src 10.8.0.1 table 100
ip route add 10.8.0.1 dev vb src 10.8.0.2 table 100
ip rule add pref 2 lookup 100
ip rule add pref 3 lookup local
ip rule del pref 0
rdma link add rxa type rxe netdev va
rdma link add rxb type rxe netdev vb
sleep 1
gid() { grep -l ffff:0a08 /sys/class/infiniband/$1/ports/1/gids/* | head -1 | sed 's/.*[/]//'; }
ib_write_bw -d rxb -x $(gid rxb) -F -s 65536 -n 300 -u 22 > /tmp/server 2>&1 &
listens
ib_write_bw -d rxa -x $(gid rxa) -F -s 65536 -n 300 -u 22 10.8.0.2
wait`

// nicd at both ends of a veth between two namespaces. perf measures in the time of its NIC, which
// goes slower than real time where the machine is too slow for the link, so the guest's own clock
// says how long it took, in hundredths of a second, with the connecting.
const nicdOverVeth = listens + `set -e
now() { read up idle < /proc/uptime; echo ${up%.*}${up#*.}; }
mkdir -p /run/netns /tmp/n
ip link add wa type veth peer name wb
for n in a b; do
	ip netns add $n
	ip link set w$n netns $n
	ip -n $n addr add 10.7.0.$((1 + $(test $n = b && echo 1 || echo 0)))/24 dev w$n
	ip -n $n link set w$n up; ip -n $n link set lo up
	printf 'name: %s\nnetns: %s\ncontrol: /tmp/n/%s.sock\nport: {name: w%s, rate: 10Gb/s}\n' \
		$n $n $n $n > /tmp/n/$n.yaml
	nicd -config /tmp/n/$n.yaml > /tmp/n/$n.log 2>&1 &
done
eventually test -e /tmp/n/a.verbs
eventually test -e /tmp/n/b.verbs
rocelab perf write_bw --nic /tmp/n/b.verbs -s 65536 -n 300 -u 22 > /tmp/n/server 2>&1 &
listens
began=$(now)
rocelab perf write_bw --nic /tmp/n/a.verbs -s 65536 -n 300 -u 22 localhost || {
	cat /tmp/n/server /tmp/n/*.log; exit 1; }
echo took $(($(now) - began))
kill %1 %2 2>/dev/null; true`

// row finds the average of perftest's table, in MB/s.
var row = regexp.MustCompile(`(?m)^ 65536 +\d+ +[\d.]+ +([\d.]+)`)

// took finds how long nicd's 300 messages took.
var took = regexp.MustCompile(`(?m)^took (\d+)$`)

// BenchmarkBesideRxe measures WRITEs of 64 KiB with path MTU 1024 over a veth inside one guest: of
// rxe, which is the kernel's, and of nicd, which is a process behind AF_XDP. Both run in an
// emulated processor, so only the ratio says something.
func BenchmarkBesideRxe(b *testing.B) {
	require.Root(b)
	require.Feature(b, feature, runtime.GOARCH == "amd64", "the guest is made for amd64")
	ctx := within(b, setUpTime+2*time.Minute)
	image, err := guest.Standard.Image(ctx, b.Logf)
	require.Feature(b, feature, err == nil, fmt.Sprint(err))
	if err := buildPrograms(ctx); err != nil {
		b.Fatal(err)
	}
	space := fmt.Sprintf("rl-interop-%d-ratio", os.Getpid())
	tap, err := makeNetwork(space, 1500)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := removeNetwork(space); err != nil {
			b.Error(err)
		}
	})
	defer tap.Close()
	files := map[string]string{}
	for _, name := range []string{"nicd", "rocelab"} {
		files["bin/"+name] = filepath.Join(bin, name)
	}
	g, err := image.Boot(ctx, guest.Options{Dir: b.TempDir(), TAP: tap, MAC: guestMAC,
		Memory: 1024, Line: line.Config{MTU: 1500}, Files: files})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := g.Close(); err != nil {
			b.Error(err)
		}
	})
	number := func(script string, of *regexp.Regexp) float64 {
		out, err := g.Run(ctx, script)
		found := of.FindStringSubmatch(out)
		if err != nil || found == nil {
			b.Fatalf("%v\n%s", err, out)
		}
		n, _ := strconv.ParseFloat(found[1], 64) // the expression has found a number
		return n
	}
	for b.Loop() {
		const sent = 300 * 65536.0 / (1 << 20) // perftest's MB
		ours, theirs := sent*100/number(nicdOverVeth, took), number(rxeOverVeth, row)
		b.ReportMetric(ours, "nicd-MB/s")
		b.ReportMetric(theirs, "rxe-MB/s")
		b.ReportMetric(ours/theirs, "nicd/rxe")
		if ours == 0 || theirs == 0 {
			b.Errorf("nicd %v MB/s, rxe %v MB/s", ours, theirs)
		}
	}
}

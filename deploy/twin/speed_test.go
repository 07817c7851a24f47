package twin_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
)

// fabric is a fat tree: pods of edge and aggregation switches, cores above. All links are routed,
// up by ECMP and down by prefix, as in topologies/clos.yaml.
type fabric struct{ pods, edges, aggs, cores, hosts int } // cores of each agg, hosts of each edge

func (f fabric) size() int { return f.pods * f.edges * f.hosts }

// host is the name of a host.
func (f fabric) host(pod, edge, i int) string { return fmt.Sprintf("h%d-%d-%d", pod, edge, i) }

// topology draws the fabric. Subnets: 10.POD.EDGE.0/24 of hosts, 11.POD.EDGE.2AGG/31 between edge
// and aggregation, 12.POD.AGG.2CORE/31 between aggregation and core.
func (f fabric) topology() *lab.Topology {
	top := lab.Default()
	top.Name, top.Nodes, top.Links = "fabric", nil, nil
	s := sketch{top: &top}
	for pod := range f.pods {
		for e := range f.edges {
			f.edge(&s, pod, e)
		}
		for a := range f.aggs {
			f.agg(&s, pod, a)
		}
	}
	for c := range f.aggs * f.cores {
		a, up := c/f.cores, c%f.cores
		var interfaces, routes []string
		for pod := range f.pods {
			interfaces = append(interfaces, fmt.Sprintf("swp%d: 12.%d.%d.%d/31", pod+1, pod, a,
				2*up+1))
			routes = append(routes, fmt.Sprintf("10.%d.0.0/16: [12.%d.%d.%d]", pod, pod, a, 2*up))
		}
		s.router(fmt.Sprintf("c%d", c), interfaces, routes)
	}
	return &top
}

func (f fabric) edge(s *sketch, pod, e int) {
	name := fmt.Sprintf("e%d-%d", pod, e)
	interfaces := []string{fmt.Sprintf("vlan: 10.%d.%d.254/24", pod, e)}
	var up []string
	for i := range f.hosts {
		host := f.host(pod, e, i)
		s.top.Nodes = append(s.top.Nodes, lab.Node{Name: host, Kind: lab.Host,
			IPv4: netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.%d/24", pod, e, i+1))})
		s.link(host, "eth0", name, fmt.Sprintf("swp%d", i+1))
	}
	for a := range f.aggs {
		port := fmt.Sprintf("swp%d", f.hosts+a+1)
		interfaces = append(interfaces, fmt.Sprintf("%s: 11.%d.%d.%d/31", port, pod, e, 2*a))
		up = append(up, fmt.Sprintf("11.%d.%d.%d", pod, e, 2*a+1))
		s.link(name, port, fmt.Sprintf("a%d-%d", pod, a), fmt.Sprintf("swp%d", e+1))
	}
	s.router(name, interfaces, []string{"0.0.0.0/0: [" + strings.Join(up, ", ") + "]"})
}

func (f fabric) agg(s *sketch, pod, a int) {
	name := fmt.Sprintf("a%d-%d", pod, a)
	var interfaces, up, routes []string
	for e := range f.edges {
		interfaces = append(interfaces, fmt.Sprintf("swp%d: 11.%d.%d.%d/31", e+1, pod, e, 2*a+1))
		routes = append(routes, fmt.Sprintf("10.%d.%d.0/24: [11.%d.%d.%d]", pod, e, pod, e, 2*a))
	}
	for c := range f.cores {
		port := fmt.Sprintf("swp%d", f.edges+c+1)
		interfaces = append(interfaces, fmt.Sprintf("%s: 12.%d.%d.%d/31", port, pod, a, 2*c))
		up = append(up, fmt.Sprintf("12.%d.%d.%d", pod, a, 2*c+1))
		s.link(name, port, fmt.Sprintf("c%d", a*f.cores+c), fmt.Sprintf("swp%d", pod+1))
	}
	routes = append(routes, "0.0.0.0/0: ["+strings.Join(up, ", ")+"]")
	s.router(name, interfaces, routes)
}

// sketch is a topology in the making.
type sketch struct{ top *lab.Topology }

func (s *sketch) link(a, deviceA, b, deviceB string) {
	s.top.Links = append(s.top.Links, lab.Link{Rate: 40 * unit.GbPerSecond,
		Delay: time.Microsecond, Endpoints: [2]lab.Endpoint{{Node: a, Device: deviceA},
			{Node: b, Device: deviceB}}})
}

func (s *sketch) router(name string, interfaces, routes []string) {
	var doc yaml.Node
	text := fmt.Sprintf("interfaces: {%s}\nstatic_routes: {%s}", strings.Join(interfaces, ", "),
		strings.Join(routes, ", "))
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		panic(err)
	}
	s.top.Nodes = append(s.top.Nodes, lab.Node{Name: name, Kind: lab.Switch,
		Switch: *doc.Content[0]})
}

// cpuTime is what the process has used, on all cores.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// live is the size of the heap.
func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkBuild is what a fabric of 1,152 hosts and 208 switches takes to build, and what a host
// that does nothing costs, with its share of the switches.
func BenchmarkBuild(b *testing.B) {
	f := fabric{pods: 24, edges: 4, aggs: 4, cores: 4, hosts: 12}
	for b.Loop() {
		top, before := f.topology(), live()
		start := time.Now()
		tw, err := twin.New(top)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/build")
		b.ReportMetric(float64(live()-before)/float64(f.size()), "B/host")
		runtime.KeepAlive(tw)
	}
}

// sizes are fat trees of 16 to 3,456 hosts, by their ports: all have a link up for each one down.
var sizes = []int{4, 8, 12, 16, 24}

// fatTree is the fat tree of switches with k ports.
func fatTree(k int) fabric {
	return fabric{pods: k, edges: k / 2, aggs: k / 2, cores: k / 2, hosts: k / 2}
}

// busy is a fabric in which every host writes to one of the next pod, after the first 100 us.
type busy struct {
	*twin.Twin
	fabric fabric
	until  unit.Time
	slice  unit.Time // in which all fabrics carry as many packets
	from   work
}

// work is what a fabric has done.
type work struct{ packets, events, moves uint64 }

func newBusy(tb testing.TB, f fabric) *busy {
	tb.Helper()
	tw, err := twin.New(f.topology())
	if err != nil {
		tb.Fatal(err)
	}
	f.permute(tb, tw)
	b := &busy{Twin: tw, fabric: f, until: 100_000, slice: 102_400_000 / unit.Time(f.size())}
	b.Run(b.until)
	b.from = b.work()
	return b
}

func (b *busy) run() {
	b.until += b.slice
	b.Run(b.until)
}

// done is the work since the beginning.
func (b *busy) done() work {
	w := b.work()
	return work{w.packets - b.from.packets, w.events - b.from.events, w.moves - b.from.moves}
}

func (b *busy) work() work {
	w := work{events: b.Net.Events(), moves: b.Net.Moves()}
	b.fabric.each(func(host, _ string) { w.packets += b.Ledger(host).Sent.Frames })
	return w
}

func (w work) eventsPerPacket() float64 { return float64(w.events) / float64(w.packets) }
func (w work) movesPerEvent() float64   { return float64(w.moves) / float64(w.events) }

// TestCostOfHosts counts what a packet costs that goes over five switches: with 27 times the hosts
// no more events, each of which is moved less than once. A tenth is for what differs by chance.
func TestCostOfHosts(t *testing.T) {
	const small, large = 4, 12
	cost := func(k int) work {
		b := newBusy(t, fatTree(k))
		b.run()
		w := b.done()
		t.Logf("%d hosts: %.2f events a packet, %.2f moves an event", fatTree(k).size(),
			w.eventsPerPacket(), w.movesPerEvent())
		return w
	}
	few, many := cost(small), cost(large)
	if many.eventsPerPacket() > 1.1*few.eventsPerPacket() {
		t.Error("more hosts mean more events a packet")
	}
	if most := max(few.movesPerEvent(), many.movesPerEvent()); most > 1 {
		t.Errorf("%.2f moves an event", most)
	}
}

// BenchmarkHosts is what an event costs in fat trees, of which every host writes 4 KB to one of the
// next pod each 4,096 ns, over five switches. The load is a fifth of what the links carry, so that
// what differs is the number of hosts and not the queues. The operations an event takes do not
// depend on it (TestCostOfHosts): what time grows by is what the processor waits for memory, as the
// state of all hosts and switches outgrows its caches, and not any more when it has. A device has
// seven events in the microsecond for which it is in the cache; with more load it would have more.
func BenchmarkHosts(b *testing.B) {
	for _, k := range sizes {
		f := fatTree(k)
		b.Run(fmt.Sprint(f.size()), func(b *testing.B) {
			f := newBusy(b, f)
			start := cpuTime(b)
			for b.Loop() {
				f.run()
			}
			w, cpu := f.done(), cpuTime(b)-start
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(w.events), "ns/event")
			b.ReportMetric(w.eventsPerPacket(), "events/packet")
			b.ReportMetric(w.movesPerEvent(), "moves/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// permute has every host write to the same host of the next pod, one after the other.
func (f fabric) permute(tb testing.TB, tw *twin.Twin) {
	tb.Helper()
	const bytes, interval = 4096, 4096
	call := func(node, path string, req, resp any) {
		if err := tw.Client(node).Call(tb.Context(), http.MethodPost, path, req, resp); err != nil {
			tb.Fatal(err)
		}
	}
	open, n := nicd.OpenRequest{Bytes: bytes, Payload: nicd.Virtual}, 0
	f.each(func(from, to string) {
		var src, dst nicd.Endpoint
		call(from, "/v1/open", open, &src)
		call(to, "/v1/open", open, &dst)
		call(from, "/v1/join", nicd.JoinRequest{QPN: src.QPN, Peer: dst}, nil)
		call(to, "/v1/join", nicd.JoinRequest{QPN: dst.QPN, Peer: src}, nil)
		call(from, "/v1/flow", nicd.FlowRequest{Name: from, QPN: src.QPN, Verb: "write",
			MessageBytes: bytes, Depth: 4, IntervalNs: interval,
			StartNs: int64(1 + n*interval/f.size())}, nil)
		n++
	})
}

// each calls fn with every host and that of the next pod in its place.
func (f fabric) each(fn func(host, next string)) {
	for pod := range f.pods {
		for e := range f.edges {
			for i := range f.hosts {
				fn(f.host(pod, e, i), f.host((pod+1)%f.pods, e, i))
			}
		}
	}
}

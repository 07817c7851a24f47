package perftest

import (
	"errors"

	"github.com/spf13/pflag"
)

// refused are options of perftest that mean nothing here, or something that we cannot do.
var refused = []struct {
	name, short string
	value       bool // takes a value
	why         string
}{
	{"mcg", "g", false, "RoCE multicast is not emulated"},
	{"MGID", "M", true, "RoCE multicast is not emulated"},
	{"report-cycles", "C", false, "times are the emulated NIC's, which has no processor cycles"},
	{"dualport", "O", false, "the NIC has one port"},
	{"ib-port2", "", true, "the NIC has one port"},
	{"report-per-port", "", false, "the NIC has one port"},
	{"use-srq", "", false, "a shared receive queue changes nothing that this test measures; " +
		"rocelab perf pingpong --srq uses one"},
	{"vector", "X", true, "the NIC has one completion vector"},
	{"hop_limit", "L", true, "the hop limit of RoCE packets is 64"},
	{"run_infinitely", "", false, "give a long --duration and end it with Ctrl-C: what was " +
		"measured is printed"},
	{"cpu_util", "", false, "the processor's load says nothing about an emulated NIC"},
	{"rate_limit", "", true, "the NIC paces by its congestion control: set it in the NIC's " +
		"configuration (dcqcn, rate)"},
	{"rate_limit_type", "", true, "see --rate_limit"},
	{"rate_units", "", true, "see --rate_limit"},
	{"burst_size", "", true, "see --rate_limit"},
	{"dlid", "", true, "there are no LIDs on Ethernet"},
	{"force-link", "", true, "the link is Ethernet"},
	{"dont_xchg_versions", "", false, "without its version we cannot know what a peer says next"},
	{"mmap", "", true, "memory is the NIC's, shared with this program"},
	{"use_hugepages", "", false, "memory is the NIC's, shared with this program"},
	{"use_cuda", "", true, "there is no GPU memory"},
	{"use_rocm", "", true, "there is no GPU memory"},
	{"odp", "", false, "memory is always resident; the NIC's translation cache is modelled by " +
		"its own configuration (receive.mtt)"},
	{"pkey_index", "", true, "the NIC has one P_Key, 0xffff"},
	{"inline_recv", "", true, "receives are never inline"},
	{"report-counters", "W", true, "the NIC's counters: rocelab show counters"},
	{"reversed", "", false, "swap the two commands"},
	{"latency_gap", "", true, "the next message goes when the last one has been answered"},
	{"recv_post_list", "", true, "receives are posted as they are used"},
}

// accepted are options whose effect is the only way there is here.
var accepted = []struct{ name, short, why string }{
	{"CPU-freq", "F", "ignored: times do not come from the processor"},
	{"events", "e", "ignored: the program always sleeps until completions come"},
	{"use_old_post_send", "", "ignored: there is one way to post"},
	{"disable_pcie_relaxed", "", "ignored: there is no PCIe"},
}

// refuse adds what is refused and what is ignored to the set, but not to its help.
func refuse(set *pflag.FlagSet) {
	for _, r := range refused {
		f := set.VarPF(refusal(r.why), r.name, r.short, r.why)
		f.Hidden = true
		if !r.value {
			f.NoOptDefVal = "true"
		}
	}
	for _, a := range accepted {
		set.BoolP(a.name, a.short, false, a.why)
		set.Lookup(a.name).Hidden = a.short == ""
	}
}

// refusal is a flag that cannot be set, and says why.
type refusal string

func (r refusal) String() string { return "" }

func (r refusal) Type() string { return "string" }

func (r refusal) Set(string) error { return errors.New(string(r)) }

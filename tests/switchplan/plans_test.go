package switchplan

// The plans, in the order of the matrix.
var plans = []*plan{&qosSAI, &pfcPlan, &watchdogPlan, &ecnPlan, &forwarding, &ourOwn}

var qosSAI = plan{
	title: "QoS SAI",
	source: "sonic-mgmt, tests/qos/test_qos_sai.py and the cases behind it in" +
		" tests/saitests/py3/sai_qos_tests.py",
	cases: []string{
		"testQosSaiPfcXoffLimit", "testQosSaiPfcXonLimit", "testQosSaiPfcXonLimit (xon_th)",
		"XonHysteresisTest",
		"testQosSaiPfcXoffLimit (cells)", "testQosSaiHeadroomPoolSize",
		"testQosSaiHeadroomPoolWatermark", "testQosSaiSharedReservationSize",
		"testQosSaiPgSharedWatermark", "testQosSaiPgHeadroomWatermark",
		"testQosSaiQSharedWatermark", "testQosSaiBufferPoolWatermark",
		"testQosSaiDscpQueueMapping", "testQosSaiDscpToPgMapping", "testQosSaiDot1pQueueMapping",
		"testQosSaiDot1pPgMapping", "testQosSaiSeparatedDscpToPgMapping", "testQosSaiLossyQueue",
		"testQosSaiLossyQueue (egress pool)",
		"testQosSaiLossyQueueVoq", "testQosSaiLosslessVoq", "testQosSaiDwrr",
		"testQosSaiDwrr (WRR, frames)", "testQosSaiDwrrWeightChange",
		"testQosSaiStrictPriorityScheduling", "testQosSaiPGDrop",
		"ReleaseAllPorts",
	},
	absent: map[string]string{
		"testQosSaiLossyQueueVoq": "The switch has egress queues, no virtual output queues.",
		"testQosSaiLosslessVoq":   "The switch has egress queues, no virtual output queues.",
	},
}

var pfcPlan = plan{
	title: "PFC",
	source: "sonic-mgmt, tests/snappi_tests/pfc (before: tests/ixia/pfc) and" +
		" tests/snappi_tests/dataplane; cases in plain words are this project's own",
	cases: []string{
		"test_pfc_pause_single_lossless_prio", "test_pfc_pause_multi_lossless_prio",
		"test_pfc_pause_single_lossy_prio", "test_pfc_pause_multi_lossy_prio",
		"all-priority pause", "test_global_pause", "PAUSE where there is no PFC",
		"test_pfc_pause_zero_mac", "test_pfc_unset_cev_single_prio",
		"test_pfc_unset_cev_multi_prio", "one class enabled, quanta for all",
		"enabled with zero quanta", "reserved octet of the enable vector",
		"unicast destination", "long PFC frame", "test_malformed_pfc_frame_handling (opcode)",
		"test_malformed_pfc_frame_handling (length)", "asymmetric PFC, not obeyed",
		"asymmetric PFC, not sent", "XOFF quanta expiry", "XON in the middle",
		"test_pfc_response_time (at once)", "test_pfc_response_time (standard's limit)",
		"XOFF refresh", "test_valid_pfc_frame", "test_pfc_single_lossless_headroom",
		"test_pfc_pause_multi_lossless_headroom", "headroom, PFC behind a frame",
		"headroom at 10Gb/s", "headroom at 40Gb/s",
		"headroom at 100Gb/s", "headroom at 400Gb/s", "test_pfc_no_congestion_throughput",
		"test_m2o_oversubscribe_lossless", "test_m2o_oversubscribe_lossy",
		"test_m2o_oversubscribe_lossless_lossy",
		"test_lossless_response_to_external_pause_storms",
		"test_lossless_response_to_throttling_pause_storms", "test_pfc_mixed_speed",
	},
}

var ecnPlan = plan{
	title: "ECN and WRED",
	source: "sonic-mgmt, tests/snappi_tests/ecn and docs/testplan/snappi" +
		" (switch-ecn-marking-tests, switch-ecn-marking-accuracy-tests," +
		" switch-ecn-pfc-ordering-tests)",
	cases: []string{
		"test_dequeue_ecn", "ECN at enqueue, DCTCP step", "test_red_accuracy (at enqueue)",
		"test_red_accuracy (at dequeue)", "ECN below Kmin and above Kmax",
		"WRED drops what is not ECN-capable", "a mark changes nothing else",
		"switch-ecn-pfc-ordering-tests",
	},
}

var watchdogPlan = plan{
	title: "PFC watchdog",
	source: "sonic-mgmt, tests/snappi_tests/pfcwd, tests/pfcwd and docs/testplan/pfcwd" +
		" (PFCWD_BASIC, PFCWD_2SENDER_2RECEIVER)",
	cases: []string{
		"test_pfcwd_basic_single_lossless_prio (storm)",
		"test_pfcwd_basic_single_lossless_prio (no storm)",
		"test_pfcwd_basic_multi_lossless_prio (storm)",
		"test_pfcwd_basic_multi_lossless_prio (no storm)", "test_pfcwd_timer_accuracy",
		"PFCWD_2SENDER_2RECEIVER (storm)", "PFCWD_2SENDER_2RECEIVER (no storm)",
		"test_pfcwd_all_to_all", "test_pfcwd_many_to_one",
		"test_pfcwd_burst_storm_single_lossless_prio", "test_pfcwd_runtime_traffic",
		"test_pfcwd_actions (drop)",
		"test_pfcwd_actions (forward)", "test_pfcwd_actions (alert)",
		"rule of [RDMA at scale] 4.3",
	},
}

var forwarding = plan{
	title: "Forwarding",
	source: "sonic-mgmt, tests/fib/test_fib.py; incomplete ARP entries after [RDMA at scale]" +
		" section 4.2; cases in plain words are this project's own",
	cases: []string{"test_basic_fib", "test_hash", "TTL", "incomplete ARP entry (flood)",
		"incomplete ARP entry (drop_lossless)", "incomplete ARP entry (cpu)",
		"flooded frames are lossy", "port isolation"},
}

var ourOwn = plan{
	title:  "What the plans have no case for",
	source: "Cases of this project's own.",
	cases: []string{"maximum rate of a queue", "maximum rate of a port",
		"minimum rate of a queue", "QCN congestion point", "in-band telemetry at dequeue",
		"live reconfiguration",
		"fault: drop ipid 0xff", "fault: drop qp 0x11 psn 100", "fault: drop every 50",
		"fault: loss 0.02", "fault: corrupt 0.02", "tshark"},
}

package switchplan

// The plans, in the order of the matrix.
var plans = []*plan{&qosSAI}

var qosSAI = plan{
	title: "QoS SAI",
	source: "sonic-mgmt, tests/qos/test_qos_sai.py and the cases behind it in" +
		" tests/saitests/py3/sai_qos_tests.py",
	cases: []string{
		"testQosSaiPfcXoffLimit", "testQosSaiPfcXonLimit", "testQosSaiPfcXonLimit (xon_th)",
		"XonHysteresisTest",
		"testQosSaiPgSharedWatermark", "testQosSaiPgHeadroomWatermark",
		"testQosSaiQSharedWatermark", "testQosSaiBufferPoolWatermark",
		"testQosSaiDscpQueueMapping", "testQosSaiDscpToPgMapping", "testQosSaiDot1pQueueMapping",
		"testQosSaiDot1pPgMapping", "testQosSaiSeparatedDscpToPgMapping", "testQosSaiLossyQueue",
		"testQosSaiLossyQueueVoq", "testQosSaiLosslessVoq", "testQosSaiDwrr",
		"testQosSaiStrictPriorityScheduling", "testQosSaiPGDrop",
		"ReleaseAllPorts",
	},
	absent: map[string]string{
		"testQosSaiLossyQueueVoq": "The switch has egress queues, no virtual output queues.",
		"testQosSaiLosslessVoq":   "The switch has egress queues, no virtual output queues.",
	},
}

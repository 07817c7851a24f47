package nicd

// Sample is a configuration with comments, every key at its default. A test reads it back.
const Sample = `# nicd: a software RoCEv2 NIC. Every key that has a default is shown with it.
name: host1
#netns: host1               # network namespace of the port; the current one if absent
#control: /run/rocelab/host1.sock
#metrics: 127.0.0.1:9466    # Prometheus endpoint, loopback only
#log_level: info
#clock:                     # see the lab; a daemon of its own runs in real time
#  dilation: 1

port:
  name: eth0                # the device, one end of a veth pair
  rate: 40Gb/s              # of the emulated link, in virtual time
  delay: 1us                # propagation, in virtual time
mac: 02:00:00:00:00:01
ipv4: 10.0.0.1
#ipv6: fd00::1
mtu: 1024                   # path MTU: 256, 512, 1024, 2048 or 4096

pfc_enable: "3"             # priorities whose pause is obeyed, as "3,4"
dscp_to_tc_map: {3: 3, 4: 4, 26: 3, 48: 6}   # the rest is class 0
dscp:
  data: 26                  # ToS 106 with ECT(0)
  ack: 26                   # acknowledgements go with the data
  cnp: 48                   # congestion notifications go before all

cc:
  algorithm: dcqcn          # or none: line rate, PFC alone
  preset: sigcomm15         # or mlx5: the values of ConnectX hardware
  params:                   # single parameters over those of the preset
    g: 0.00390625           # 1/256
    alpha_timer: 55us
    initial_alpha: 1
    timer: 55us
    byte_counter: 10MB
    fast_recovery: 5
    rate_ai: 40Mb/s
    rate_hai: 400Mb/s
    min_rate: 1Mb/s
    decrease_interval: 0s
    min_decrease_factor: 0
    first_cnp_rate: 0
    clamp_target: always
cnp_interval: 50us          # at most one CNP per QP in so much time
burst: 1500                 # bytes a paced QP may send back to back

qp:
  send_queue: 128           # work requests
  receive_queue: 128
  max_outstanding: 8192     # packets in flight
  ack_every: 64             # packets between requests for an acknowledgement
  timeout: 14               # 4.096 us x 2^timeout: 67 ms
  retry_count: 7
  rnr_retry: 7              # 7 is for ever
  min_rnr_timer: 12         # 0.64 ms
max_qps: 1024
max_regions: 4096
seed: 0                     # of memory keys and first PSNs
metrics_per_qp: 0           # QPs with metrics of their own
`

// Package host follows what the kernel knows about one device of a network namespace, by netlink:
// addresses, routes and neighbours. The NIC has none of its own: it is who the kernel says it is,
// and sends where the kernel would.
//
//	RTM_*LINK, RTM_*ADDR    -> State: MAC, MTU, addresses of the device and of its VLAN devices
//	RTM_*ROUTE, RTM_*NEIGH  -> Path of each peer in use, looked up anew
//	Resolve                 -> RTM_GETROUTE, then the neighbour; one that is unknown is asked for
//
// Routes are not copied: the kernel's own lookup answers (ip route get), so policy rules, metrics
// and multipath count. Events are only taken as a reason to look again. So an overrun of the
// netlink socket (ENOBUFS), which loses events, costs one more look and nothing else.
package host

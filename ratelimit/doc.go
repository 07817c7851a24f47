// Package ratelimit decides when a flow may send its next packet.
//
//	Bucket  how much a flow of a given rate may send, exact to a billionth of a bit
//	Wheel   deadlines of any number of flows; each operation costs the same for 10 or 100,000
//	Pacer   both together: flows with data wait in the wheel until their bucket is out of
//	        debt, then stand in a ring of their priority until the port takes them
//
//	          Activate             bucket out of debt            Next, Sent
//	  idle ------------> waiting (Wheel) ------------> ready (ring) -------+
//	    ^                   ^                                              |
//	    |   Deactivate      +------------ in debt ------------------------ +
//	    +------------------------------------------------------------------+
//
// Flows carry the links of their ring, timers stand in one slab of the wheel's, made at the start.
// Nothing allocates after that.
package ratelimit

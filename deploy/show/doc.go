// Package show renders the state of switches as SONiC's command line does, and as JSON.
//
// Each show command is a Block: a typed answer about one switch that marshals to its JSON and
// prints itself in the layout that sonic-utilities has for it (python-tabulate "simple"), so that
// who knows `show pfc counters` from a switch finds the same table here, and so do scripts that
// parse it.
//
//	switchd.State --> Since(what was cleared) --> Block --> table
//	                                                    --> JSON, one object for all switches
//
// Rendering needs no lab. The client half, Source, asks the control sockets of a running one.
//
// Counters are cleared as SONiC clears them: the present state is kept on the client's side and
// subtracted from then on; what a switch counts, and Prometheus reads, is never reset. Watermarks
// are cleared in the switch.
package show

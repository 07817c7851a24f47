// Package sonic is the QoS part of a SONiC CONFIG_DB as types: what a config_db.json says about
// classification, buffers, queues, marking and PFC.
//
// Tables is the one canonical form of switchd's configuration. The keys of its YAML file are turned
// into Tables, a config_db.json is read into them, the machine is built from them, and two of them
// are compared to find out whether a switch runs what it should.
//
//	YAML keys ------> Tables --------> pipeline.Config
//	config_db.json ->  |  |
//	                   |  +-> config_db.json (Export)
//	                   +----> Diff(desired, running): table|key|field
//
// Table and field names, key forms and defaults are those of SONiC's YANG models. What SONiC cannot
// say has a form of its own, named where it is parsed: a dynamic_th that is a fraction, a rate or a
// duration with a unit, the fields mark_at and max_size, and the table ROCELAB. What is read and
// has no meaning for the machine is named in a Remark; what is wrong is a Fault. Nothing is
// swallowed.
package sonic

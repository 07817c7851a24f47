// Package check judges the configuration of switches before anything runs: where can a frame of a
// lossless class be dropped, and where is it paused before it is marked?
//
// File reads a switch's YAML, a topology, or a config_db.json into a Fabric: switches as their
// machine will see them, with what is at the other end of each port as far as the file tells. Every
// check is a function in the table Checks. A warning names the inequality that does not hold, with
// its numbers; that a configuration passes means that none of these does, not that nothing can go
// wrong.
package check

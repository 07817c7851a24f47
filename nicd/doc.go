// Package nicd is the software RoCEv2 NIC as a daemon: configuration, metrics and control calls
// around the machine in nicd/nic and its traffic in nicd/app.
package nicd

// Package metrics tests what the daemons tell Prometheus with Prometheus itself: promtool judges
// the exposition of running daemons and the shipped rules, and a real server scrapes them and
// evaluates the rules on what it got.
package metrics

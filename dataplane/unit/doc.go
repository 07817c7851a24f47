// Package unit holds the quantities everything else computes with: Time, Rate, Bytes.
//
// All three are integers with a fixed unit, distinct from each other, so that adding bytes to
// nanoseconds does not compile. Time is virtual: it starts at zero when a lab starts, and there
// is deliberately no Now. Only a driver knows what time it is; machines are told.
//
// Durations are the standard library's time.Duration. Decimal prefixes are powers of ten, as on
// link rates and in the papers (200 KB = 200,000 bytes); KiB and MiB are powers of two.
package unit

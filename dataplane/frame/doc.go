// Package frame is the one thing that moves: a frame with its bytes and fixed metadata.
//
// A frame belongs to a Pool of fixed size and has exactly one owner at a time. Handing it to a
// function that "takes ownership" ends the caller's right to touch it. An owner that loses a
// frame calls Release and counts it under a Reason; a second Release panics.
//
// Nothing here locks: a pool and its frames live in one loop.
package frame

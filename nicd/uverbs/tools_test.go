package uverbs

import (
	"os"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

func fileOf(fd int) *os.File { return os.NewFile(uintptr(fd), "socket") }

// small are limits within which any call is quick.
func small() (l abi.Limits) {
	l = DefaultLimits()
	l.Memory = 16 << 20
	return l
}

package guest

import (
	"bytes"
	"fmt"
)

// archive is a cpio archive in the format that the kernel unpacks into its first file system:
// "newc" of Documentation/driver-api/early-userspace/buffer-format.rst. Archives may follow each
// other in one file.
type archive struct {
	buf   bytes.Buffer
	inode int
}

// Types of a file in its mode: struct stat's.
const (
	modeDir     = 0o040000
	modeRegular = 0o100000
)

func (a *archive) dir(path string)                         { a.entry(path, modeDir|0o755, nil) }
func (a *archive) file(path string, mode int, text []byte) { a.entry(path, modeRegular|mode, text) }

// entry writes one header, name and contents. The header is a magic number and 13 fields of eight
// hexadecimal digits; name and contents are each padded to four bytes.
func (a *archive) entry(path string, mode int, text []byte) {
	a.inode++
	fmt.Fprint(&a.buf, "070701")
	for _, field := range []int{a.inode, mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(path) + 1,
		0} {
		fmt.Fprintf(&a.buf, "%08x", field)
	}
	a.buf.WriteString(path)
	a.buf.WriteByte(0)
	a.pad()
	a.buf.Write(text)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

// end completes the archive and returns it.
func (a *archive) end() []byte {
	a.inode = -1 // the trailer's is 0
	a.entry("TRAILER!!!", 0, nil)
	return a.buf.Bytes()
}

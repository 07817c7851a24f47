// Package tshark is a second opinion on frames that tests build.
package tshark

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
)

// Fields decodes one Ethernet frame and returns the fields with blanks between them; fields that
// the frame does not have leave nothing. It requires tshark.
func Fields(t testing.TB, frame []byte, fields ...string) string {
	t.Helper()
	require.Tool(t, "tshark")
	// A pcap file of one frame: magic, version 2.4, snapshot length, link type Ethernet.
	var file bytes.Buffer
	for _, v := range []any{uint32(0xa1b2c3d4), uint16(2), uint16(4), uint64(0), uint32(65535),
		uint32(1), uint64(0), uint32(len(frame)), uint32(len(frame))} {
		if err := binary.Write(&file, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	file.Write(frame)
	path := filepath.Join(t.TempDir(), "one.pcap")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", path, "-T", "fields", "-E", "separator=/s"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return strings.TrimSpace(string(out))
}

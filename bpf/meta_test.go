package bpf

import (
	"encoding/hex"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
)

// golden is the layout as documented: magic RLM1, hash, time, kind 5, class 3, ECN 2, offsets.
const golden = "524c4d31" + "78563412" + "0807060504030201" +
	"05" + "03" + "02" + "0e" + "22" + "1a" + "0000" + "0000000000000000"

func TestDecodeMeta(t *testing.T) {
	b, err := hex.DecodeString(golden)
	if err != nil || len(b) != MetaLen {
		t.Fatal(len(b), err)
	}
	want := frame.Class{Kind: frame.RoCE4, TC: 3, ECN: frame.ECT0, L3Off: 14, L4Off: 34, DSCP: 26,
		Hash: 0x12345678}
	got, arrived, ok := DecodeMeta(b)
	if !ok || got != want || arrived != 0x0102030405060708 {
		t.Errorf("decoded %+v at %x, %v", got, arrived, ok)
	}
	if _, _, ok := DecodeMeta(b); ok {
		t.Error("the same metadata was taken twice")
	}
	for n := range MetaLen {
		if _, _, ok := DecodeMeta(b[:n]); ok {
			t.Errorf("%d bytes were taken", n)
		}
	}
}

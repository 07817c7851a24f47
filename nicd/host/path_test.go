package host

import "testing"

// The sizes that rxe takes: of a device MTU of 1500 it makes 1024, of 4500 4096.
func TestPathMTUIsThatOfRXE(t *testing.T) {
	for device, want := range map[int]int{
		335: 0, 336: 256, 591: 256, 592: 512, 1103: 512, 1104: 1024, 1500: 1024, 2127: 1024,
		2128: 2048, 3498: 2048, 4175: 2048, 4176: 4096, 4500: 4096, 9000: 4096,
	} {
		if got := PathMTU(device); got != want {
			t.Errorf("device MTU %d: path MTU %d, want %d", device, got, want)
		}
	}
}

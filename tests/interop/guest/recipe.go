package guest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
)

// Recipe says what is in the image.
type Recipe struct {
	Kernel   string   // a package that depends on the kernel's
	Packages []string // whose programs are wanted; with what they depend on
	Programs []string // from these packages; with the libraries they need
	Modules  []string // of the kernel; with the modules they need, loaded in this order
	Dlopened []string // libraries that nothing names: opened at run time
	Busybox  string   // path in the tree: the shell and all small tools
}

// Standard is the image that the tests use.
var Standard = Recipe{
	Kernel: "linux-image-amd64",
	Packages: []string{"busybox-static", "ibverbs-utils", "ibverbs-providers", "rdmacm-utils",
		"perftest", "iproute2"},
	Programs: []string{"ibv_devinfo", "ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong",
		"ibv_srq_pingpong", "rping", "udaddy", "ib_send_bw", "ib_send_lat", "ib_write_bw",
		"ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_atomic_bw", "ib_atomic_lat",
		"rdma", "ip", "tc"},
	// crc32 is the ICRC's; nothing in rdma_rxe's dependencies says that it is needed. veth is for
	// two network namespaces inside the guest.
	Modules: []string{"virtio_pci", "virtio_console", "virtio_net", "crc32_generic",
		"crc32c_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm", "sch_netem", "8021q", "veth"},
	// pthread_exit opens libgcc_s, without which rping aborts. The other is what libibverbs finds
	// by the name in its configuration.
	Dlopened: []string{"libgcc_s.so.1", "librxe-rdmav*.so"},
	Busybox:  "bin/busybox",
}

// builders are the files that decide what an image looks like. A change in any makes a new one.
//
//go:embed recipe.go image.go fetch.go tree.go modules.go kernel.go cpio.go
var builders embed.FS

// Hash names the image that this recipe gives.
func (r *Recipe) Hash() string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(r); err != nil {
		panic(err) // a struct of strings
	}
	err := fs.WalkDir(builders, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := builders.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(text))
		h.Write(text)
		return err
	})
	if err != nil {
		panic(err) // embedded
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

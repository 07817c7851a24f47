package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// Offsets in a bzImage: Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header".
const (
	bootSetupSectors  = 0x1f1 // of 512 bytes after the first; 0 means 4
	bootMagic         = 0x202 // "HdrS"
	bootPayloadOffset = 0x248 // from the protected-mode code, which follows the setup sectors
	bootPayloadLength = 0x24c
	bootHeaderEnd     = 0x250
)

var (
	errNotBoot = errors.New("not a bzImage of boot protocol 2.08 or later")
	elfMagic   = []byte("\x7fELF")
	xzMagic    = []byte("\xfd7zXZ\x00")
)

// payload returns the compressed kernel in a bzImage.
func payload(image []byte) ([]byte, error) {
	if len(image) < bootHeaderEnd || string(image[bootMagic:][:4]) != "HdrS" {
		return nil, errNotBoot
	}
	sectors := int(image[bootSetupSectors])
	if sectors == 0 {
		sectors = 4
	}
	begin := (sectors+1)*512 + int(binary.LittleEndian.Uint32(image[bootPayloadOffset:]))
	end := begin + int(binary.LittleEndian.Uint32(image[bootPayloadLength:]))
	if begin > end || end > len(image) {
		return nil, errNotBoot
	}
	return image[begin:end], nil
}

// extractKernel writes the kernel in the tree without its compression: unpacking it takes the
// emulated processor five seconds and the real one half.
func extractKernel(ctx context.Context, t *tree, path string) error {
	rel, err := t.find("vmlinuz-*")
	if err != nil {
		return err
	}
	image, err := t.read(rel)
	if err != nil {
		return err
	}
	packed, err := payload(image)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	if !bytes.HasPrefix(packed, xzMagic) {
		return fmt.Errorf("%s: compressed with something else than xz: % x", rel, packed[:6])
	}
	kernel, err := unxz(ctx, packed)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	if !bytes.HasPrefix(kernel, elfMagic) {
		return fmt.Errorf("%s: unpacks to something else than ELF", rel)
	}
	return os.WriteFile(path, kernel, 0o644)
}

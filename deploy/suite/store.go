package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/result"
)

// key says what a finished cell hangs on beside its code: with an equal key it need not be run
// again. How many seeds were asked for is not part of it, so that seeds can be added.
type key struct {
	Version    string  `json:"version"` // of the code
	Experiment string  `json:"experiment"`
	Cell       string  `json:"cell"`
	Mode       Mode    `json:"mode"`
	Seed       uint64  `json:"seed"` // the first
	Short      bool    `json:"short"`
	Dilation   float64 `json:"dilation"`
}

// finished is a cell that has been run, and the content of its file.
type finished struct {
	Key         key     `json:"key"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	RealSeconds float64 `json:"real_seconds"`
	Outcome     Outcome `json:"outcome"`
}

func (f *finished) took() time.Duration {
	return time.Duration(f.RealSeconds * float64(time.Second))
}

// codeVersion names the code. What is not committed has no name of its own in the version of the
// build, so there the program itself is part of the name. Of a program of others the build knows
// only their version, and this module may be any.
var codeVersion = sync.OnceValue(func() string {
	version := daemon.Version()
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Path != daemon.Module {
		return info.Main.Path + " " + version + " build " + programHash()
	}
	committed := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	if ok && slices.Contains(info.Settings, committed) {
		return version
	}
	return version + " changed " + programHash()
})

// programHash tells builds apart. Where the program cannot be read nothing is like it, not even
// itself later on.
func programHash() string {
	unlike := time.Now().Format(time.RFC3339Nano)
	name, err := os.Executable()
	if err != nil {
		return unlike
	}
	f, err := os.Open(name)
	if err != nil {
		return unlike
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return unlike
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// cellFile is where a cell is kept in a suite's folder.
func cellFile(dir string, k *key) string {
	return filepath.Join(dir, "cells", k.Experiment, fileName(k.Cell)+"-"+string(k.Mode)+".json")
}

// fileName leaves of a cell's name what every file system takes.
func fileName(cell string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			strings.ContainsRune("=.,+_-", r):
			return r
		}
		return '_'
	}, cell)
}

// load reads what an earlier run found, or nothing. A file that cannot be read counts as missing,
// because the cell that it is about can always be run again.
func load(dir string, k *key) *finished {
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(cellFile(dir, k))
	if err != nil {
		return nil
	}
	f := new(finished)
	if json.Unmarshal(text, f) != nil || f.Key.Cell != k.Cell {
		return nil
	}
	return f
}

// save keeps a cell for a later run.
func (f *finished) save(dir string) error {
	name := cellFile(dir, &f.Key)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of a cell: %w", err)
	}
	return result.WriteJSON(name, f)
}

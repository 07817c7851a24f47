package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ThisProgram is the program that is running, also when its file has been replaced meanwhile.
const ThisProgram = "/proc/self/exe"

// daemons is the program of all daemons; empty: each has one of its own.
var daemons string

// UseDaemons has the labs of this process start their daemons as "PROGRAM switchd -config FILE"
// and "PROGRAM nicd -config FILE", as rocelab can be started. Without it they start the programs
// switchd and nicd from beside the running one or from PATH.
//
// rocelab names itself. So what judged a topology is what runs it: the daemons know the same
// algorithms, and are of the same version while a new one is installed.
func UseDaemons(program string) { daemons = program }

// daemonCommand is how a daemon is started, but for its options.
func daemonCommand(kind string) (*exec.Cmd, error) {
	if daemons == "" {
		path, err := findBinary(kind)
		if err != nil {
			return nil, err
		}
		return exec.Command(path), nil
	}
	cmd := exec.Command(daemons, kind)
	if daemons == ThisProgram {
		cmd.Args[0] = os.Args[0] // what lists of processes show
	}
	return cmd, nil
}

// findBinary looks beside the running executable first, then in PATH.
func findBinary(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if st, err := os.Stat(path); err == nil && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: neither beside this program nor in PATH", name)
	}
	return path, nil
}

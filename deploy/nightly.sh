#!/usr/bin/env bash
# Runs the whole of the experiments with the rocelab given, in virtual time and on real frames, into
# a folder, and compares the verdicts with a document's. Fails if one differs, or if an experiment
# failed; whatever happens, what was found stays in the folder. Needs root.
set -uo pipefail

rocelab=$1 out=$2 document=$3
status=0
for mode in --virtual --real; do
	"$rocelab" run all "$mode" --out "$out"
	code=$?
	# 3 says that a claim does not hold, which the document may know.
	[ "$code" -eq 0 ] || [ "$code" -eq 3 ] || status=$code
	[ "$code" -ne 130 ] || exit 130
done
"$rocelab" report "$out" --markdown "$out/papers.md" --against "$document" || status=$?
exit "$status"

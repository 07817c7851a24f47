#!/usr/bin/env bash
# Runs every fuzz target of the repository for the given time each, or so many times (5000x).
set -euo pipefail

time=${1:-10s}
go list -f '{{.Dir}}' ./... | while read -r dir; do
	{ grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/^func //' |
		while read -r target; do
			echo "fuzz: ${dir##*/} $target"
			# Minimising an input that is merely new would take most of the time.
			out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x \
				-parallel 2 "$dir" </dev/null 2>&1) || { echo "$out" >&2; exit 1; }
			echo "${out##*$'\n'}"
		done
done

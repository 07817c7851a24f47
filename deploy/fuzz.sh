#!/usr/bin/env bash
# Runs every fuzz target of the repository for the given time each.
set -euo pipefail

time=${1:-10s}
go list -f '{{.Dir}}' ./... | while read -r dir; do
	{ grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/^func //' |
		while read -r target; do
			echo "fuzz: ${dir##*/} $target"
			go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 2 "$dir" </dev/null | tail -1
		done
done

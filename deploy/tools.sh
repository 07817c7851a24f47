#!/usr/bin/env bash
# Installs the Debian packages that the tests use, if any of them is missing. Needs root and apt.
set -euo pipefail

need=()
want() { command -v "$1" >/dev/null 2>&1 || need+=("$2"); }
want clang clang
want llvm-strip llvm
want tcpdump tcpdump
want tshark tshark
want promtool prometheus
want chromium chromium
want ip iproute2
want qemu-system-x86_64 qemu-system-x86
want qemu-aarch64 qemu-user
want xz xz-utils
[ -e /usr/include/bpf/bpf_helpers.h ] || need+=(libbpf-dev)
[ ${#need[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null 2>&1 || { echo "tools: please install: ${need[*]}" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "tools: installing ${need[*]}" >&2
{ apt-get update && apt-get install -y --no-install-recommends "${need[@]}"; } >"$log" 2>&1 || {
	tail -20 "$log" >&2
	exit 1
}
# Debian starts a server with the package; the tests start their own.
systemctl disable --now prometheus >/dev/null 2>&1 || true

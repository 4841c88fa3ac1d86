#!/bin/sh
# Runs the command line on the Node that npm installed with the dependencies, else on the Node of
# the PATH. A shell replaces itself by Node, so that signals and exit codes need no relay.
root=$(dirname "$(readlink -f "$0")")/../..
node=$root/node_modules/.bin/node
if [ ! -x "$node" ]; then
  node=node
  found=$(node --version 2>/dev/null)
  major=${found#v}
  major=${major%%.*}
  if [ "${major:-0}" -lt 24 ]; then
    echo "Scoreline needs Node 24, not ${found:-none}: run npm ci, which installs it, or install Node 24." >&2
    exit 1
  fi
fi
# The C library keeps what threads gave back: 320 MB beside the largest cards, 110 MB with these.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-262144}"
# Without it, young objects of the largest cards take up to 134 MB, which then stay with the process.
exec "$node" --max-semi-space-size=32 "$root/src/cli/scoreline.mjs" "$@"

# The command `sluice` of a shell, which it replaces with the Node.js that serves: one process gets the signals and has
# the exit status. On its first use in a clone, the host's Node.js installs and builds before that.
root=$(cd "$(dirname "$0")/../.." && pwd -P) || exit
node=$root/node_modules/.bin/node

# The packaged Node.js does not run on every system, for example not on systems with musl. `--version` ends before
# Node.js starts its runtime.
if ! [ -f "$root/build/src/cli/main.js" ] || ! "$node" --version >/dev/null 2>&1; then
  if ! command -v node >/dev/null; then
    echo 'sluice: Node.js was not found. Install version 20 or newer, put it on the PATH and try again.' >&2
    exit 1
  fi
  node=$(node "$root/ops/launch/node-path.mjs") || exit
fi
# By default, the C library gives each thread memory of its own, and keeps what a thread has freed for this thread.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
exec "$node" "$root/ops/launch/program.mjs" "$@"

// What PM2 starts. It numbers the processes, and each needs ports of its own for what only it knows: its debug pages
// (DEBUG_PORT, DEBUG_PORT + 1, ...) and, where they are on, its metrics (PULLSTATS_ADDR likewise).
// (PM2's `increment_var` would count on with each reload.)
const { env } = process;
const instance = Number(env.NODE_APP_INSTANCE ?? 0);
/** Port 0 is any free one for each of them. What is no port is for the service to refuse, as it was written. */
const own = address => address.replace(/[1-9][0-9]*$/, port => String(Number(port) + instance));
env.DEBUG_PORT = own(env.DEBUG_PORT || '6070');
env.PULLSTATS_ADDR = own(env.PULLSTATS_ADDR || env.PROMETHEUS_ADDR || ':9090');
delete env.PROMETHEUS_ADDR;
// Whatever this process starts is not to add it again.
delete env.NODE_APP_INSTANCE;
await import('../launch/sluice.mjs');

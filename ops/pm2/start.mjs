// What PM2 starts. It numbers the processes, and each needs ports of its own for what only it knows: its debug pages
// (DEBUG_PORT, DEBUG_PORT + 1, ...) and, where they are on, its metrics (PULLSTATS_ADDR likewise).
// (PM2's `increment_var` would count on with each reload.)
const { env } = process;
const instance = Number(env.NODE_APP_INSTANCE ?? 0);
env.DEBUG_PORT = String(Number(env.DEBUG_PORT ?? 6070) + instance);
const metrics = env.PULLSTATS_ADDR ?? env.PROMETHEUS_ADDR ?? ':9090';
delete env.PROMETHEUS_ADDR;
env.PULLSTATS_ADDR = metrics.replace(/[0-9]+$/, port => String(Number(port) + instance));
// Whatever this process starts is not to add it again.
delete env.NODE_APP_INSTANCE;
await import('../launch/sluice.mjs');

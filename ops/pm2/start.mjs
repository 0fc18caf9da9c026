// What PM2 starts. It numbers the processes, and each needs a debug port of its own: DEBUG_PORT, DEBUG_PORT + 1, ...
// (PM2's `increment_var` would count on with each reload.)
const { DEBUG_PORT = '6070', NODE_APP_INSTANCE = '0' } = process.env;
process.env.DEBUG_PORT = String(Number(DEBUG_PORT) + Number(NODE_APP_INSTANCE));
// Whatever this process starts is not to add it again.
delete process.env.NODE_APP_INSTANCE;
await import('../launch/sluice.mjs');

// Several processes on shared ports, one for each pair of cores: `pm2 start ops/pm2/ecosystem.config.cjs`.
// `pm2 reload sluice` replaces them one by one; the others answer meanwhile.
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

module.exports = {
  apps: [
    {
      name: 'sluice',
      cwd: join(__dirname, '..', '..'),
      script: 'ops/pm2/start.mjs',
      args: 'serve',
      exec_mode: 'cluster',
      instances: Number(process.env.INSTANCES ?? Math.max(1, Math.floor(availableParallelism() / 2))),
      // A process says when its ports are open; only then does a reload end the one that it replaces.
      wait_ready: true,
      listen_timeout: 60_000,
      // A store that all processes share is needed, or each counts for itself: KVCACHE_URL, in the environment.
      // There is a process for each pair of cores, so one thread of each serves.
      env: {
        SHARE_PORTS: 'true',
        SERVE_THREADS: process.env.SERVE_THREADS ?? '1',
        // As the command `sluice` does.
        MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? '2',
      },
      // Longer than SHUTDOWN_DELAY (0), SHUTDOWN_TIMEOUT (4s), for calls in progress, TASKS_DRAIN_TIMEOUT (30s), and what the last statistics (2 s)
      // and spans (5 s) may take.
      kill_timeout: 60_000,
      exp_backoff_restart_delay: 100,
    },
  ],
};

// Starts the service whose pages are in the pictures.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const LAUNCHER = fileURLToPath(new URL('../launch/sluice.mjs', import.meta.url));

/** The token of the operator. */
export const TOKEN = 'a-token-for-the-pictures';

const MASTER_KEY = Buffer.alloc(32, 'pictures').toString('base64');

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 200}
  - key: path
    value: /search
    rate_limit: {unit: second, requests_per_unit: 20}
  - key: path
    value: /checkout
    rate_limit: {unit: second, requests_per_unit: 40}
  - key: ip
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 300}
  - key: tenant
    descriptors:
      - key: plan
        value: free
        rate_limit: {unit: hour, requests_per_unit: 500}
`;

/**
 * Starts a service with tasks on free ports, and returns its process and addresses.
 *
 * @param directory where its files are
 */
export function startService(directory) {
  mkdirSync(join(directory, 'config'));
  mkdirSync(join(directory, 'candidate'));
  writeFileSync(join(directory, 'config/shop.yaml'), RULES);
  writeFileSync(
    join(directory, 'candidate/shop.yaml'),
    RULES.replace('200}', '120}').replace('300}', '500}'),
  );
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: '0',
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: '0',
      DEBUG_HOST: '127.0.0.1',
      DEBUG_PORT: '0',
      RUNTIME_ROOT: directory,
      RUNTIME_WATCH_ROOT: 'false',
      RUNTIME_CANDIDATE: join(directory, 'candidate'),
      ADMIN_TOKEN: TOKEN,
      TASKS_ENABLED: 'true',
      TASKS_DATA_DIRECTORY: join(directory, 'tasks'),
      SECRETS_MASTER_KEY: MASTER_KEY,
      ACCOUNTS_SIGNUP: 'loopback',
      TASKS_PUSH_HTTP: 'true',
      TASKS_PUSH_NETWORKS: '127.0.0.0/8',
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', status => reject(new Error(`the service ended with status ${status}`)));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', line => {
        const { '@message': message, http, debug } = line.startsWith('{') ? JSON.parse(line) : {};
        if (message === 'Sluice is ready') resolve({ child, http, debug });
      });
    }
  });
}

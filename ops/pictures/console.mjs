// The pictures of the console of a tenant, and the tasks in them.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';

/** Each picture: its address, and what is awaited before it is taken. */
export const CONSOLE = {
  console: { query: () => '', ready: 'table tbody tr' },
  task: { query: ({ failed }) => `?view=task&id=${failed}`, ready: '.timeline' },
};

/** What is done for the customers of the tenant, and how often its receiver fails, of 100 times. */
const WORKERS = [
  { name: 'mail', types: ['mail.welcome', 'mail.receipt', 'mail.reset'], failures: 12 },
  { name: 'invoices', types: ['invoice.create', 'invoice.remind'], failures: 30 },
  { name: 'search-index', types: ['index.update'], failures: 0 },
];

/** Number of tasks that are created in all, and how many of them are due tomorrow, of 100. */
const TASKS = 120;
const LATER = 15;

/**
 * Creates a tenant with workers, tasks and a schedule.
 *
 * @returns the tenant's domain and token, the id of a task with failures, and the function that ends its receiver
 */
export async function createTenant(service) {
  const receiver = await startReceiver();
  const call = (path, body, host = 'acme.localhost', headers = {}) =>
    ask(service, { path, body, host, headers });
  const { domain, token } = await call('/accounts', { domain: 'acme' }, 'localhost');
  const make = (path, body) =>
    call(`/api/v1/${path}`, body, `${domain}.localhost`, { Authorization: `Bearer ${token}` });
  const retry = { max_attempts: 3, base: '1s', max: '2s' };
  for (const { name } of WORKERS) await make('workers', { name, url: `${receiver.url}/${name}`, retry });
  await make('schedules', {
    name: 'nightly-report',
    worker: 'invoices',
    cron: '0 3 * * *',
    timezone: 'Europe/Berlin',
    task: {},
  });
  for (let number = 0; number < TASKS; number++) {
    const { name, types } = WORKERS[number % WORKERS.length];
    await make('tasks', {
      worker: name,
      type: types[number % types.length],
      tags: [number % 2 === 0 ? 'plan:gold' : 'plan:free'],
      payload: { order: 4_000 + number, customer: `c-${number % 17}` },
      ...(number % 100 < LATER && { delay: '1d' }),
    });
  }
  const failed = await make('tasks', {
    worker: 'invoices',
    type: 'invoice.create',
    payload: { order: 4711, fails: true },
  });
  return { domain, token, failed: failed.id, stop: receiver.stop };
}

/** Answers pushed tasks. The same tasks fail each time that the pictures are taken. */
async function startReceiver() {
  let calls = 0;
  const server = createServer(async (pushed, response) => {
    const body = await bodyOf(pushed);
    const { failures } = WORKERS.find(({ name }) => pushed.url === `/${name}`);
    const fails = body.includes('"fails":true') || (calls++ * 37) % 100 < failures;
    response.writeHead(fails ? 503 : 200, { 'Content-Type': 'application/json' });
    response.end(fails ? '{"error":"the printer service is down"}' : '{"done":true}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** Sends a request under another `Host` than the address, which `fetch` does not allow. */
async function ask(service, { path, body, host, headers }) {
  const [hostname, port] = service.http.split(':');
  const sent = request({
    ...{ hostname, port, path, method: 'POST' },
    headers: { Host: host, 'Content-Type': 'application/json', ...headers },
  });
  sent.end(JSON.stringify(body));
  const [answer] = await once(sent, 'response');
  const text = await bodyOf(answer);
  if (answer.statusCode >= 300)
    throw new Error(`${path} was answered with status ${answer.statusCode}: ${text}`);
  return JSON.parse(text);
}

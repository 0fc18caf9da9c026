import { SluiceClient } from '../../clients/typescript/src/index.ts';

const INVOICES = 5;

const customers = process.argv.slice(2);
const client = SluiceClient.fromEnvironment();
const tasks = customers.flatMap(customer =>
  Array.from({ length: INVOICES }, (_, n) => ({
    worker: 'invoices',
    group: customer,
    payload: { customer, invoice: n + 1 },
  })),
);
const { results } = await client.post('/v1/tasks/batch', { body: { tasks } });
console.log(`${results.length} invoices of ${customers.join(', ')}`);

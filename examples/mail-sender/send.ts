import { SluiceClient } from '../../clients/typescript/src/index.ts';

const [to, subject, text] = process.argv.slice(2);
if (text === undefined) {
  console.error('Usage: send.js TO SUBJECT TEXT');
  process.exit(2);
}

const client = SluiceClient.fromEnvironment();
const task = await client.post('/v1/tasks', {
  body: { worker: 'mailer', type: 'mail', payload: { to, subject, text } },
});
console.log(`${task.id} will be sent to ${to}`);

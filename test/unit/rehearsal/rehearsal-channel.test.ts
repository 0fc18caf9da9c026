import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { Rehearsal } from '../../../src/rehearsal/rehearsal.ts';
import { RehearsalPublisher, RehearsalSubscriber } from '../../../src/rehearsal/rehearsal-channel.ts';
import { compileRules } from '../../../src/rules/compile.ts';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { loadRuleSet } from '../../../src/rules/parse/load.ts';
import { until } from '../../support/until.ts';

const files = [{ name: 'shop.yaml', content: Buffer.from('domain: shop') }];
const rules = new CompiledRules(compileRules(loadRuleSet(files, { mergeDomains: false })));
const rehearsal = (number: number) => Rehearsal.begin(number, rules, 1);

t.test('threads follow the rehearsals from the moment at which they begin', async t => {
  const publisher = new RehearsalPublisher();
  t.teardown(() => publisher.close());
  const early = new RehearsalSubscriber(port => publisher.attach(port));
  publisher.publish(rehearsal(1));
  const late = new RehearsalSubscriber(port => publisher.attach(port));
  await until(() => early.current?.number === 1 && late.current?.number === 1);
  publisher.publish(null);
  await until(() => early.current === null && late.current === null);
  publisher.publish(rehearsal(2));
  await until(() => early.current?.number === 2 && late.current?.number === 2);
});

t.test('a thread that has ended is told nothing more', async t => {
  const publisher = new RehearsalPublisher();
  t.teardown(() => publisher.close());
  const { port1: ofThread, port2 } = new MessageChannel();
  publisher.attach(port2);
  let isClosed = false;
  port2.once('close', () => {
    isClosed = true;
  });
  ofThread.close();
  await until(() => isClosed);
  port2.postMessage = () => t.fail('it was told');
  publisher.publish(rehearsal(1));
});

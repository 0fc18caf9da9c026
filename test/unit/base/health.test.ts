import t from 'tap';
import { Health, type HealthComponents } from '../../../src/base/health.ts';

t.test('health is good only while every component is', async t => {
  const health = new Health();
  t.ok(health.healthy);
  health.set('store', false);
  t.notOk(health.healthy);
  health.set('config', true);
  t.notOk(health.healthy);
  health.set('store', true);
  t.ok(health.healthy);
});

t.test('listeners are called when the health of the process changes, until they are removed', async t => {
  const health = new Health();
  const heard: boolean[] = [];
  const leave = health.onChange(healthy => heard.push(healthy));
  health.set('a', true);
  health.set('a', false);
  health.set('b', false);
  health.set('a', true);
  health.set('b', true);
  leave();
  health.set('b', false);
  t.same(heard, [false, true]);
});

t.test('components that do not decide are reported, and do not change the health', async t => {
  const health = new Health();
  const heard: boolean[] = [];
  health.onChange(healthy => heard.push(healthy));
  health.set('termination', true);
  health.report('store', false, 'Redis is not connected');
  t.ok(health.healthy);
  t.same(heard, []);
  t.same(
    [...health.components],
    [
      ['termination', { ok: true, decides: true, note: null }],
      ['store', { ok: false, decides: false, note: 'Redis is not connected' }],
    ],
  );
});

t.test('a mirror in another thread shows the same components, and tells its own listeners', async t => {
  const health = new Health();
  const mirror = new Health();
  const heard: boolean[] = [];
  mirror.onChange(healthy => heard.push(healthy));
  const sent: HealthComponents[] = [];
  const leave = health.onComponentChange(() => {
    sent.push(structuredClone(health.components));
    mirror.mirror(sent[sent.length - 1]);
  });
  health.set('termination', true);
  health.report('store', false, 'Redis is not connected');
  health.report('store', false, 'Redis is not connected');
  t.equal(sent.length, 2, 'nothing has changed the third time');
  t.same([...mirror.components], [...health.components]);
  health.set('termination', false, 'the process shuts down');
  t.notOk(mirror.healthy);
  health.set('termination', true);
  t.same(heard, [false, true]);
  leave();
  health.set('termination', false);
  t.ok(mirror.healthy, 'nothing is sent any more');
});

import t from 'tap';
import { Health } from '../../../src/base/health.ts';

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

t.test(
  'components that do not decide are reported, and neither change the health nor call listeners',
  async t => {
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
  },
);

import { play } from './play.ts';
import { randomHistory } from './steps/random-history.ts';

const [from, count] = process.argv.slice(2).map(Number);
const byPromise = new Map<string, number>();
const begin = performance.now();
let events = 0;
for (let seed = from; seed < from + count; seed++) {
  const history = randomHistory(seed);
  const t0 = performance.now();
  try {
    const played = await play(history);
    events += played.events;
    const ms = performance.now() - t0;
    const bad = played.violations;
    if (bad.length > 0 || process.env['V'] || ms > 1500) console.log(seed, history.store, history.steps.length, 'steps', Math.round(played.lastedMs / 1000), 's', played.events, 'events', Math.round(ms), 'ms', bad.slice(0, 3).map(v => `${v.promise}: ${v.text.slice(0, 400)}`));
    for (const { promise } of bad.slice(0, 1)) byPromise.set(promise, (byPromise.get(promise) ?? 0) + 1);
  } catch (e) { console.log(seed, 'THREW', e); }
}
const s = (performance.now() - begin) / 1000;
console.log(byPromise, `${(count / s).toFixed(1)} histories/s`, `${Math.round(events / s)} events/s`);
process.exit(0);

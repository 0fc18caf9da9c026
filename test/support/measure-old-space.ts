import { getHeapSpaceStatistics } from 'node:v8';
import { encodeRateLimitRequest } from '../../src/messages/client-codec.ts';
import { Decisions, request } from './decisions.ts';
import { heldMemory } from './memory.ts';
import { embeddedStore } from './stores.ts';

// Run as a process of its own. Decides, and sends the bytes that a decision leaves in the old space to the parent.

const RULES =
  'domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: 4000000000}\n';
const DECISIONS = 50_000;
const AT_ONCE = 500;

const oldSpace = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;

const decisions = new Decisions({ store: embeddedStore(), rules: RULES });
const asked = encodeRateLimitRequest(request('d', 'k=x'));

async function decide(count: number): Promise<void> {
  for (let begun = 0; begun < count; begun += AT_ONCE) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let answers = 0;
    const answered = (): void => {
      if (++answers === AT_ONCE) resolve();
    };
    const refused = (): void => reject(new Error('A decision was refused.'));
    for (let i = 0; i < AT_ONCE; i++)
      decisions.batcher.decide(asked, 'protobuf', { gone: false, answered, refused });
    await promise;
  }
}

// Afterwards what decides has been moved to the old space itself, and is compiled.
await decide(DECISIONS);
await heldMemory();
await decide(AT_ONCE);
// The best of a few: on a busy machine, what is decided during a collection is moved to the old space as well.
let fewest = Number.POSITIVE_INFINITY;
for (let round = 0; round < 3; round++) {
  const before = oldSpace();
  await decide(DECISIONS);
  const bytes = oldSpace() - before;
  // Less than before: the old space was collected meanwhile, so nothing is known.
  if (bytes >= 0) fewest = Math.min(fewest, bytes / DECISIONS);
}
process.send!(fewest);

import { getHeapSpaceStatistics } from 'node:v8';
import t from 'tap';
import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { Decisions, request } from '../../support/decisions.ts';
import { heldMemory } from '../../support/memory.ts';
import { embeddedStore } from '../../support/stores.ts';

const RULES =
  'domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: 4000000000}\n';
const DECISIONS = 50_000;
const AT_ONCE = 500;

const space = (name: string) => getHeapSpaceStatistics().find(({ space_name }) => space_name === name)!;
const oldSpace = (): number => space('old_space').space_used_size;

/** Decisions leave objects in the old space if the new space is smaller than what is in use at one time. */
const NEW_SPACE_BYTES = 8 << 20;

/** Makes the new space as large as under load: a collection can make it small. It grows by what survives in it. */
function growNewSpace(): void {
  const survivors: number[][] = [];
  while (space('new_space').space_size < NEW_SPACE_BYTES) {
    survivors.push(new Array<number>(10_000).fill(0));
    if (survivors.length > 10_000) throw new Error('The new space does not grow.');
  }
}

t.test('decisions leave next to nothing in the old space, which few garbage collections empty', async t => {
  const decisions = new Decisions({ store: embeddedStore(), rules: RULES });
  const asked = encodeRateLimitRequest(request('d', 'k=x'));
  const decide = async (count: number): Promise<void> => {
    for (let begun = 0; begun < count; begun += AT_ONCE) {
      const { promise, resolve } = Promise.withResolvers<void>();
      let answers = 0;
      const answered = (): void => {
        if (++answers === AT_ONCE) resolve();
      };
      for (let i = 0; i < AT_ONCE; i++)
        decisions.batcher.decide(asked, 'protobuf', { gone: false, answered, refused: t.fail });
      await promise;
    }
  };
  // Afterwards what decides has been moved to the old space itself, and is compiled.
  await decide(DECISIONS);
  await heldMemory();
  growNewSpace();
  await decide(DECISIONS);
  // The best of a few: on a busy machine, what is decided during a collection is moved to the old space as well.
  let fewest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const before = oldSpace();
    await decide(DECISIONS);
    const bytes = oldSpace() - before;
    // Less than before: the old space was collected meanwhile, so nothing is known.
    if (bytes >= 0) fewest = Math.min(fewest, bytes / DECISIONS);
  }
  t.ok(fewest < 40, `${fewest.toFixed(1)} bytes a decision`);
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that the process holds on to, on the heap and beside it, garbage not counted. */
export async function heldMemory(): Promise<number> {
  // Buffers are given back by finalizers, which run between two collections.
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await new Promise(resolve => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

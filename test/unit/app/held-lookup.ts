import dns from 'node:dns';
import { isIP } from 'node:net';
import type { Test } from 'tap';
import { wrapBuiltin } from '../../support/wrapped-builtin.ts';

export interface HeldLookup {
  /** Resolves once a host name is looked up. */
  readonly asked: Promise<void>;
  /** Lets that lookup, and every later one, go on. */
  release(): void;
}

/** Holds every lookup of a host name until it is released: a resolver that is slow to answer. */
export function holdLookups(t: Test): HeldLookup {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held =
    (lookup: typeof dns.lookup) =>
    (name: string, ...rest: unknown[]): void => {
      const goOn = (): void => Reflect.apply(lookup, dns, [name, ...rest]);
      // Listening on an address goes through the lookup as well.
      if (isIP(name) !== 0) goOn();
      else {
        asked.resolve();
        released.promise.then(goOn);
      }
    };
  wrapBuiltin(t, dns, 'lookup', lookup => held(lookup) as typeof lookup);
  t.teardown(() => released.resolve());
  return { asked: asked.promise, release: () => released.resolve() };
}

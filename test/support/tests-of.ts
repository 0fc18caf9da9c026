import t, { type Test } from 'tap';

/** Declares tests that begin alike: each is given what `begin` makes for it. */
export function testsOf<S>(begin: (t: Test) => S | Promise<S>) {
  return (title: string, show: (scene: S, t: Test) => unknown): void => {
    t.test(title, async t => show(await begin(t), t));
  };
}

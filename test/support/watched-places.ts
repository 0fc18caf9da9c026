import fs from 'node:fs';
import type { Test } from 'tap';
import { wrapBuiltin } from './wrapped-builtin.ts';

/** Calls `before` with each path that is about to be watched, until the test ends; collects the watchers. */
export function spyOnWatch(t: Test, before: (path: string) => void): fs.FSWatcher[] {
  const watchers: fs.FSWatcher[] = [];
  const spied = (watch: typeof fs.watch) => (path: string) => {
    before(path);
    const watcher = watch(path);
    watchers.push(watcher);
    return watcher;
  };
  wrapBuiltin(t, fs, 'watch', watch => spied(watch) as typeof watch);
  return watchers;
}

/** What a system call that was refused throws. */
export function refusal(code: string, text: string): Error {
  return Object.assign(new Error(`${code}: ${text}`), { code });
}

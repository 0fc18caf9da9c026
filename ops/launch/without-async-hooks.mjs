// Keeps tap from following every promise, timer and socket of a test process.
//
// tap follows them to learn to which test an error belongs that nothing catches. Node.js then calls it for each promise
// that is made: a twentieth of the processor time of tests. test-group.mjs knows the test that runs without this.
import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const hook = { enable: () => hook, disable: () => hook };
asyncHooks.createHook = () => hook;
syncBuiltinESMExports();

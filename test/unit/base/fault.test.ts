import t from 'tap';
import { Fault } from '../../../src/base/fault.ts';
import { WireFault } from '../../../src/messages/wire.ts';

t.test('errors that any request can cause are made without a stack trace', t => {
  const limit = Error.stackTraceLimit;
  for (const fault of [new Fault('bad_request', 'the text'), new WireFault('the text', 3)]) {
    t.notMatch(fault.stack, /\n\s+at /, fault.name);
    t.match(fault.message, /^the text/);
    t.ok(fault instanceof Error);
  }
  t.equal(Error.stackTraceLimit, limit, 'other errors still have one');
  t.match(new Error('another').stack, /\n\s+at /);
  t.end();
});

t.test('a fault keeps the error that caused it, with its stack trace', t => {
  const cause = new Error('the cause');
  const fault = new Fault('internal', 'the text', { cause });
  t.equal(fault.cause, cause);
  t.match(cause.stack, /\n\s+at /);
  t.end();
});

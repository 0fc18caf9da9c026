import t from 'tap';
import { DEFAULT_WINDOW, Window } from '../../../../src/http2/streams/window.ts';

const LARGEST = 0x7fff_ffff;

t.test('every window starts with 65,535 octets (RFC 9113, 6.9.2)', async t => {
  t.equal(DEFAULT_WINDOW, 65_535);
});

t.test('a window goes below zero and comes back (RFC 9113, 6.9.2)', async t => {
  const window = new Window(100);
  window.consume(80);
  t.equal(window.widen(60 - 100), true, 'the initial size became 60');
  t.equal(window.available, -20);
  t.equal(window.widen(21), true);
  t.equal(window.available, 1);
});

t.test('a window takes what brings it to 2^31 - 1, and not one octet more (RFC 9113, 6.9.1)', async t => {
  const window = new Window(65_535);
  t.equal(window.widen(LARGEST - 65_535 + 1), false);
  t.equal(window.available, 65_535, 'as it was');
  t.equal(window.widen(LARGEST - 65_535), true);
  t.equal(window.available, LARGEST);
  t.equal(window.widen(1), false);
});

t.test('a window below zero may be widened by 2^31 - 1 (RFC 9113, 6.9.1)', async t => {
  const window = new Window(0);
  window.consume(5);
  t.equal(window.widen(LARGEST), true);
  t.equal(window.available, LARGEST - 5);
});

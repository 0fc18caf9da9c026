import { inspect } from 'node:util';
import type { AnyHistory } from '../simulator.ts';
import type { Shrunk } from './shrink.ts';

/** A history as a test, which a person can read and change. */
export function testOf<H extends AnyHistory>({ history, violation }: Shrunk<H>): string {
  const { steps, ...setup } = history;
  const lines = steps.map(step => `      ${codeOf(step)},`);
  return [
    `scenario('${violation.promise}', {`,
    `  ${codeOf(setup).slice(2, -2)},`,
    '  steps: [',
    ...lines.map(line => line.slice(2)),
    '  ],',
    '});',
    `// ${violation.text.replaceAll('\n', '\n// ')}`,
  ].join('\n');
}

function codeOf(value: unknown): string {
  return inspect(value, {
    depth: null,
    compact: true,
    breakLength: Number.POSITIVE_INFINITY,
    maxStringLength: null,
  });
}

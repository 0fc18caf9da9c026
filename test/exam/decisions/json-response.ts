import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { deciding, type OpenStore } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

/** The proto3 JSON that `/json` answers with, and that both encodings say the same. */
export function examineJsonResponse(t: Test, open: OpenStore): void {
  examineFields(t, open);
  examineHeadersAndMetadata(t, open);
}

function examineFields(t: Test, open: OpenStore): void {
  t.test('fields come in order of declaration, the name of a limit first, zeros are left out', async t => {
    const decisions = await deciding(
      open,
      { key: 'over', rate_limit: limit(7, { unit: 'second' }) },
      { key: 'named', rate_limit: limit(2, { name: 'n' }) },
      { key: 'free', rate_limit: { unlimited: true } },
    );
    const { text, overLimit } = await decisions.askJson(
      request(
        'd',
        descriptor('over=x', { hitsAddend: 8 }),
        descriptor('named=x'),
        descriptor('none=x'),
        descriptor('free=x'),
      ),
    );
    const statuses = [
      '{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":7,"unit":"SECOND"},"durationUntilReset":"1s"}',
      '{"code":"OK","currentLimit":{"name":"n","requestsPerUnit":2,"unit":"HOUR"},"limitRemaining":1,"durationUntilReset":"2800s"}',
      '{"code":"OK"}',
      '{"code":"OK","limitRemaining":4294967295}',
    ];
    t.equal(text, `{"overallCode":"OVER_LIMIT","statuses":[${statuses.join(',')}]}`);
    t.ok(overLimit);
  });

  t.test('a limit of 0 has no `requestsPerUnit`, units go by name', async t => {
    const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'];
    const decisions = await deciding(
      open,
      ...units.map(unit => ({ key: unit, rate_limit: limit(0, { unit }) })),
    );
    const { text } = await decisions.askJson(request('d', ...units.map(unit => `${unit}=x`)));
    const { statuses } = JSON.parse(text) as { statuses: { currentLimit: unknown }[] };
    t.strictSame(
      each(statuses, 'currentLimit'),
      units.map(unit => ({ unit: unit.toUpperCase() })),
    );
  });

  t.test('texts of rules are escaped where JSON wants it, and nowhere else', async t => {
    const name = 'a"b\\c\n<&>\u2028日😀';
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(1, { name }) });
    const { text } = await decisions.askJson(request('d', 'k=v'));
    t.match(text, '"name":"a\\"b\\\\c\\n<&>\u2028日😀"');
    const { statuses } = await decisions.ask(request('d', 'k=v'));
    t.equal(statuses[0].currentLimit?.name, name, 'and the protobuf encoding holds the same text');
  });

  t.test('an unknown domain gives nothing but codes', async t => {
    const decisions = await deciding(open);
    const { text } = await decisions.askJson(request('x', 'a=1', 'b=1'));
    t.equal(text, '{"overallCode":"OK","statuses":[{"code":"OK"},{"code":"OK"}]}');
  });
}

function examineHeadersAndMetadata(t: Test, open: OpenStore): void {
  t.test('headers come after the statuses, metadata last, with the keys of maps sorted as texts', async t => {
    const metadata = { b: 1, a: { '10': 'x', '9': 'y', z: [true, null, 1.5], B: '"' } };
    const rules = ruleFile({ key: 'k', metadata, rate_limit: limit(10) });
    const headerNames = { limit: 'L', remaining: 'R', reset: 'T' };
    const options = { headerNames, dynamicMetadata: true };
    const decisions = new Decisions({ store: await open(), rules, options });
    const { text } = await decisions.askJson(request('d', 'k=v'));
    const rest = text.slice(text.indexOf('}],') + 3);
    const headers = '[{"key":"L","value":"10"},{"key":"R","value":"9"},{"key":"T","value":"2800"}]';
    const sorted = '{"a":{"10":"x","9":"y","B":"\\"","z":[true,null,1.5]},"b":1}';
    const described = `{"descriptors":[{"entries":["k=v"]}],"domain":"d","metadata":${sorted}}`;
    t.equal(rest, `"responseHeadersToAdd":${headers},"dynamicMetadata":${described}}`);
  });

  t.test('both encodings say the same', async t => {
    const rules = ruleFile(
      { key: 'a', rate_limit: limit(3, { name: 'a' }), metadata: { m: [1, { n: 'o' }] } },
      { key: 'free', rate_limit: { unlimited: true } },
    );
    const headerNames = { limit: 'L', remaining: 'R', reset: 'T' };
    const options = { headerNames, dynamicMetadata: true };
    const decisions = new Decisions({ store: await open(), rules, options });
    const only = (text: string) => descriptor(text, { hitsAddend: 0 });
    const asked = request('d', only('a=1'), only('free=1'), only('none=1'));
    await decisions.ask(request('d', 'a=1'));
    const binary = await decisions.ask(asked);
    const json = JSON.parse((await decisions.askJson(asked)).text);
    t.strictSame(json.dynamicMetadata, binary.dynamicMetadata);
    t.strictSame(json.responseHeadersToAdd, binary.responseHeadersToAdd);
    t.strictSame(json.statuses, [
      {
        code: 'OK',
        currentLimit: { name: 'a', requestsPerUnit: 3, unit: 'HOUR' },
        limitRemaining: binary.statuses[0].limitRemaining,
        durationUntilReset: `${binary.statuses[0].durationUntilReset}s`,
      },
      { code: 'OK', limitRemaining: binary.statuses[1].limitRemaining },
      { code: 'OK' },
    ]);
  });
}

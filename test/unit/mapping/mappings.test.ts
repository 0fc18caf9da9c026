import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import type { DomainMapping } from '../../../src/mapping/domain-mapping.ts';
import { NOT_COUNTED } from '../../../src/mapping/mapping-counters.ts';
import { RequestMapper } from '../../../src/mapping/request-mapper.ts';
import type { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { compiled } from '../rules/parse/rule-text.ts';

const NOW_MS = Date.UTC(2026, 10, 23);

const { privateKey, publicKey } = await generateKeyPair('ES256');

function sign(sub: string): Promise<string> {
  return new SignJWT({ sub, plan: 'gold' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
}

interface Setup {
  readonly path: string;
  /** Replaces the rules by those with these fields of the token, and these entries. */
  readonly load: (token: string, entries?: string) => void;
  readonly shop: () => DomainMapping;
  /** A request of another domain arrives. */
  readonly askElsewhere: () => void;
  /** The claims of a token, and whether they are known at once. */
  readonly read: (token: string) => Promise<readonly [claims: unknown, isKnown: boolean]>;
}

async function setup(t: Test): Promise<Setup> {
  const path = join(tempDirectory(t), 'keys.json');
  writeFileSync(path, JSON.stringify({ keys: [await exportJWK(publicKey)] }));
  let current: CompiledRules | null = null;
  const [clock, log] = [new ManualClock(NOW_MS), new KeepingLogger()];
  const mapper = new RequestMapper({ rules: () => current, counters: NOT_COUNTED, clock, log });
  const shop = (): DomainMapping => mapper.of('shop') as DomainMapping;
  const load = (token: string, entries = '{key: u, claim: sub}'): void => {
    const requests = `{token: {jwks_file: ${path}${token}}, descriptors: [[${entries}]]}`;
    current = compiled(`domain: shop\nrequests: ${requests}\ndescriptors: [{key: u}]\n`);
  };
  const read = async (token: string): Promise<readonly [unknown, boolean]> => {
    const mapping = shop();
    const each = (field: (name: string, value: string) => void): void => field('authorization', token);
    mapping.request.readCall({ method: 'GET', remoteAddress: '', isBinary: false, each }, '/', '');
    const claims = mapping.readClaims();
    return [await claims, !(claims instanceof Promise)];
  };
  load('');
  return { path, load, shop, askElsewhere: () => mapper.of('other'), read };
}

t.test('a domain whose `requests` stay the same keeps its mapping when rules are loaded', async t => {
  const { load, shop } = await setup(t);
  const before = shop();
  load('');
  t.equal(shop(), before);
  load('', '{key: u, claim: plan}');
  t.not(shop(), before);
});

t.test('tokens stay known when rules are loaded', async t => {
  const { load, read, path, askElsewhere } = await setup(t);
  const [ann, bob] = [await sign('ann'), await sign('bob')];
  t.same(await read(ann), [{ sub: 'ann' }, false]);
  rmSync(path);
  load('', '{key: u, claim: sub}, {key: m, method: true}');
  t.same(await read(ann), [{ sub: 'ann' }, true]);
  load('', '{key: m, method: true}, {key: u, claim: sub}');
  askElsewhere();
  load('');
  askElsewhere();
  t.same(await read(ann), [{ sub: 'ann' }, true], 'also if nobody asked the domain in between');
  t.same(await read(bob), [{ sub: 'bob' }, false], 'the keys stay while the file is missing');
});

t.test('the keys stay while the file is missing, also if tokens are read in another way', async t => {
  const { load, read, path } = await setup(t);
  const ann = await sign('ann');
  t.same(await read(ann), [{ sub: 'ann' }, false]);
  rmSync(path);
  load('', '{key: u, claim: plan}');
  t.same(await read(ann), [{ plan: 'gold' }, false]);
  load(', issuer: "https://id.example"');
  t.same(await read(ann), [null, false], 'another issuer is required');
});

import t from 'tap';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { MAX_REPORTED_FAULTS, RuleSetRefused } from '../../../../src/rules/rule-set.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { mutated, YamlWriter } from './yaml-writer.ts';

const ROUNDS = 500;

const GOOD = `# a file with everything
domain: shop
descriptors:
  - key: region
    value: eu*
    share_threshold: true
    rate_limit: &limit
      unit: hour
      requests_per_unit: 0x10
      name: "eu"
      replaces:
        - name: 'world'
    descriptors:
      - {key: partner, rate_limit: *limit}
      - key: several
        rate_limits:
          - {name: burst, unit: second, unit_multiplier: 10, requests_per_unit: 10}
          - window: 36h
            requests_per_unit: 100
            algorithm: token_bucket
            burst: 20
          - calendar: {period: month, zone: Europe/Berlin, starts: 15}
            requests_per_unit: 1000
            quota_mode: true
      - key: path
        metadata:
          a: [1, 2.5, ~]
          b: |
            text
`;

/** Loads bytes as a file, and says whether they were accepted. Whatever is thrown must be a refusal that helps. */
function accepted(content: Uint8Array): boolean {
  try {
    loadRuleSet([{ name: 'f.yaml', content }], { mergeDomains: false });
    return true;
  } catch (refusal) {
    if (!(refusal instanceof RuleSetRefused)) throw refusal;
    const { faults } = refusal;
    if (faults.length < 1 || faults.length > MAX_REPORTED_FAULTS) throw new Error(`${faults.length} faults`);
    for (const { line, column, message } of faults) {
      const placed = (line === 0 && column === 0) || (line >= 1 && column >= 1);
      if (!placed || message === '') throw new Error(`no place or text: ${JSON.stringify(refusal.faults)}`);
    }
    return false;
  }
}

t.test('spoiled rule files are accepted or refused, and nothing else happens', async t => {
  const random = new SeededRandom(99);
  let good = 0;
  for (let i = 0; i < ROUNDS; i++) {
    if (accepted(Buffer.from(mutated(GOOD, random)))) good++;
  }
  t.ok(good > 0 && good < ROUNDS, `both happened: ${good} of ${ROUNDS} were accepted`);
});

t.test('random YAML and random bytes are refused', async t => {
  const random = new SeededRandom(100);
  const writer = new YamlWriter(random);
  for (let i = 0; i < ROUNDS / 3; i++) {
    const bytes = Uint8Array.from({ length: random.below(200) }, () => random.below(256));
    const ascii = Uint8Array.from({ length: random.below(200) }, () =>
      random.pick([10, 32 + random.below(95)]),
    );
    for (const content of [Buffer.from(writer.document()), bytes, ascii]) {
      if (accepted(content)) t.fail(`accepted ${Buffer.from(content).toString('latin1')}`);
    }
  }
  t.pass('none was accepted');
});

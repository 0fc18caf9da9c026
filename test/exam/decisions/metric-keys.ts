import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { deciding, grown, type OpenStore } from './examinee.ts';
import { type EntryText, named, nested, ruleFile } from './rule-file.ts';

const DETAILED = { detailed_metric: true };
const VALUED = { value_to_metric: true };
const SHARED = { share_threshold: true };

/** Rules, a descriptor, and the metric key that its statistics must be counted under. */
type Case = readonly [entries: readonly EntryText[], descriptorText: string, metricKey: string];

/** Under which name a descriptor is counted. */
export function examineMetricKeys(t: Test, open: OpenStore): void {
  const counts = (sentence: string, cases: readonly Case[]): void => {
    t.test(sentence, async t => {
      const store = await open();
      for (const [entries, text, metricKey] of cases) {
        const decisions = new Decisions({ store, rules: ruleFile(...entries) });
        const growth = await grown(decisions, () => decisions.ask(request('d', text)));
        const prefix = `rate_limit.${metricKey}`;
        t.strictSame(
          growth,
          { [`${prefix}.total_hits`]: 1, [`${prefix}.within_limit`]: 1 },
          `${text} is ${metricKey}`,
        );
      }
    });
  };
  counts('without flags an entry counts as it is configured', plainCases());
  counts(
    '`detailed_metric` of the matched entry puts every value in, whatever its parents say',
    detailedCases(),
  );
  counts('`value_to_metric` puts the value of its own level in', valuedCases());
  counts('a wildcard counts as its pattern, with `value_to_metric` as the value', wildcardCases());
  counts('`share_threshold` counts all values as the pattern', sharedCases());
  counts('`share_threshold` with another flag keeps the pattern up to its first wildcard', combinedCases());
  counts('a pattern that matched across the underscore is written as a whole', acrossCases());
  counts('names are made fit for line protocols', sanitisedCases());
  examineOverrideKeys(t, open);
}

/** Entries nested into each other, each with a limit: the depth of the request picks the one that counts. */
function path(...entries: readonly (readonly [text: string, flags?: object])[]): EntryText[] {
  const withLimits = entries.map(([text, flags]): EntryText => {
    const at = text.indexOf('=');
    const entry = at < 0 ? { key: text } : { key: text.slice(0, at), value: text.slice(at + 1) };
    return { ...entry, ...flags, rate_limit: named(text) };
  });
  return [nested(...withLimits)];
}

function plainCases(): Case[] {
  return [
    [path(['key1=value1'], ['subkey1']), 'key1=value1,subkey1=something', 'd.key1_value1.subkey1'],
    [
      path(['key1=value1'], ['subkey1=subvalue1']),
      'key1=value1,subkey1=subvalue1',
      'd.key1_value1.subkey1_subvalue1',
    ],
    [path(['key2']), 'key2=something', 'd.key2'],
    [path(['key2']), 'key2=', 'd.key2'],
    [path(['key-1'], ['key-2']), 'key-1=value-1', 'd.key-1'],
    [path(['key-1'], ['key-2']), 'key-1=value-1,key-2=value-2', 'd.key-1.key-2'],
    [path(['a_b']), 'a=b', 'd.a_b'],
    [path(['a_b=c']), 'a=b_c', 'd.a_b_c'],
  ];
}

function detailedCases(): Case[] {
  return [
    [path(['key7', DETAILED]), 'key7=unspecified_value', 'd.key7_unspecified_value'],
    [path(['key7', DETAILED]), 'key7=', 'd.key7_'],
    [path(['key-1', DETAILED], ['key-2']), 'key-1=value-1', 'd.key-1_value-1'],
    [path(['key-1', DETAILED], ['key-2']), 'key-1=value-1,key-2=value-2', 'd.key-1.key-2'],
    [
      path(['key-1', DETAILED], ['key-2', DETAILED]),
      'key-1=value-1,key-2=value-2',
      'd.key-1_value-1.key-2_value-2',
    ],
    [path(['key-1'], ['key-2', DETAILED]), 'key-1=value-1,key-2=value-2', 'd.key-1_value-1.key-2_value-2'],
    [
      path(['key_2', DETAILED], ['key_3=requested-key3-value', DETAILED]),
      'key_2=key-2-value,key_3=requested-key3-value',
      'd.key_2_key-2-value.key_3_requested-key3-value',
    ],
    [path(['a_b', DETAILED]), 'a=b', 'd.a_b'],
    [path(['wild=foo*', DETAILED]), 'wild=foo1', 'd.wild_foo1'],
    [path(['wild=foo*'], ['k', DETAILED]), 'wild=foo1,k=', 'd.wild_foo1.k_'],
  ];
}

function valuedCases(): Case[] {
  const route = path(['route', VALUED], ['http_method', VALUED], ['subject_id']);
  return [
    [route, 'route=draw,http_method=GET,subject_id=123', 'd.route_draw.http_method_GET.subject_id'],
    [route, 'route=,http_method=GET,subject_id=123', 'd.route.http_method_GET.subject_id'],
    [route, 'route=,http_method=,subject_id=123', 'd.route.http_method.subject_id'],
    [path(['k1'], ['k2', VALUED], ['k3']), 'k1=X,k2=Y,k3=Z', 'd.k1.k2_Y.k3'],
    [
      path(['route', VALUED], ['http_method', VALUED], ['subject_id', DETAILED]),
      'route=draw,http_method=GET,subject_id=123',
      'd.route_draw.http_method_GET.subject_id_123',
    ],
    [
      path(['route', VALUED], ['http_method=GET', VALUED], ['subject_id']),
      'route=api,http_method=GET,subject_id=user123',
      'd.route_api.http_method_GET.subject_id',
    ],
    [
      path(['user', VALUED], ['action=read*', VALUED], ['resource']),
      'user=alice,action=readfile,resource=documents',
      'd.user_alice.action_readfile.resource',
    ],
    [path(['k', { ...VALUED, ...DETAILED }]), 'k=', 'd.k_'],
  ];
}

function wildcardCases(): Case[] {
  return [
    [path(['wild=foo*']), 'wild=foo1', 'd.wild_foo*'],
    [path(['wild=foo*', VALUED]), 'wild=foo1', 'd.wild_foo1'],
    [path(['wild=foo*bar*', VALUED]), 'wild=foo123bar456', 'd.wild_foo123bar456'],
    [
      path(['wild=foo*'], ['other', VALUED], ['limit']),
      'wild=foo1,other=bar,limit=X',
      'd.wild_foo*.other_bar.limit',
    ],
    [path(['wild=*', VALUED]), 'wild=', 'd.wild'],
    [path(['wild=*', VALUED], ['k']), 'wild=,k=1', 'd.wild.k'],
    [path(['wild=*']), 'wild=', 'd.wild_*'],
    [path(['wild=foo*', VALUED]), 'wild=foo*', 'd.wild_foo*'],
  ];
}

function sharedCases(): Case[] {
  const beside: EntryText[] = [
    { key: 'file', value: 'test1', rate_limit: named('one') },
    { key: 'file', value: 'test*', ...SHARED, rate_limit: named('all') },
  ];
  return [
    [path(['wild=foo*', SHARED]), 'wild=foo1', 'd.wild_foo*'],
    [
      path(['files=top/*', SHARED], ['files=nested/*', SHARED]),
      'files=top/file1.txt,files=nested/file1.txt',
      'd.files_top/*.files_nested/*',
    ],
    [
      path(['path=path/*', SHARED], ['file=file/*'], ['type']),
      'path=path/foo,file=file/doc1,type=pdf',
      'd.path_path/*.file_file/*.type',
    ],
    [
      path(['user=user/*', SHARED], ['resource=res/*', SHARED], ['action']),
      'user=user/alice,resource=res/file1,action=read',
      'd.user_user/*.resource_res/*.action',
    ],
    [beside, 'file=test1', 'd.file_test1'],
    [beside, 'file=test2', 'd.file_test*'],
    [beside, 'file=test23', 'd.file_test*'],
    [
      path(['tenant=t*prod', SHARED], ['resource=res*v2', SHARED]),
      'tenant=t1prod,resource=resAv2',
      'd.tenant_t*prod.resource_res*v2',
    ],
  ];
}

function combinedCases(): Case[] {
  return [
    [path(['wild=foo*', { ...SHARED, ...VALUED }]), 'wild=foo1', 'd.wild_foo'],
    [path(['wild=foo*', { ...SHARED, ...DETAILED }]), 'wild=foo1', 'd.wild_foo'],
    [path(['wild=foo*bar*', { ...SHARED, ...DETAILED }]), 'wild=foo1bar2', 'd.wild_foo'],
    [path(['wild=*', { ...SHARED, ...VALUED }]), 'wild=x', 'd.wild_'],
    [
      path(['route=api/*', { ...SHARED, ...VALUED }], ['method']),
      'route=api/v1,method=GET',
      'd.route_api/.method',
    ],
    [
      path(['route=api/*', SHARED], ['method', VALUED]),
      'route=api/v1,method=GET',
      'd.route_api/*.method_GET',
    ],
    [
      path(['service=svc/*', SHARED], ['endpoint', DETAILED]),
      'service=svc/user,endpoint=get',
      'd.service_svc/.endpoint_get',
    ],
    [
      path(['service=svc/*', SHARED], ['endpoint', DETAILED]),
      'service=svc/user,endpoint=',
      'd.service_svc/.endpoint',
    ],
    [path(['tenant=t*prod', { ...SHARED, ...VALUED }]), 'tenant=t1prod', 'd.tenant_t'],
    // A value that is the pattern itself is an exact match: nothing is shared on that level.
    [path(['wild=foo*', { ...SHARED, ...DETAILED }]), 'wild=foo*', 'd.wild_foo*'],
  ];
}

function acrossCases(): Case[] {
  return [
    [path(['user=*']), 'user_id=5', 'd.user_id_user_*'],
    [path(['user=*', VALUED]), 'user_id=5', 'd.user_id_5'],
    [path(['user=*', DETAILED]), 'user_id=5', 'd.user_id_5'],
    [path(['user=*', SHARED]), 'user_id=5', 'd.user_id_user_*'],
    [path(['user=*', { ...SHARED, ...VALUED }]), 'user_id=5', 'd.user_id_user_'],
    [path(['foo*']), 'foobar=x', 'd.foobar_foo*'],
    [path(['foo*']), 'foo=x', 'd.foo_foo*'],
  ];
}

function sanitisedCases(): Case[] {
  return [
    [path(['ip', DETAILED]), 'ip=10.0.0.1:80', 'd.ip_10_0_0_1_80'],
    [path(['ip', DETAILED]), 'ip=1.2.3.4.5', 'd.ip_1_2_3_4.5'],
    [path(['ip=10.0.0.1']), 'ip=10.0.0.1', 'd.ip_10_0_0_1'],
    [path(['a:b', VALUED]), 'a:b=c|d e-f', 'd.a_b_c_d e-f'],
    [path(['1'], ['2'], ['3'], ['4']), '1=a,2=b,3=c,4=d', 'd.1_2_3_4'],
    [path(['k', DETAILED]), 'k=7.8', 'd.k_7.8'],
  ];
}

function examineOverrideKeys(t: Test, open: OpenStore): void {
  t.test('a limit of the request’s own counts under every key and value', async t => {
    const decisions = await deciding(open, ...path(['key1', { ...SHARED, ...VALUED, value: '*' }]));
    for (const [text, metricKey] of [
      ['key1=value1,subkey1=something', 'd.key1_value1.subkey1_something'],
      ['key1=value1', 'd.key1_value1'],
      ['key1=,subkey1=x', 'd.key1.subkey1_x'],
      ['', 'd.'],
    ]) {
      const limit = { requestsPerUnit: 5, unit: 1 };
      const own =
        text === '' ? { ...descriptor('k=v', { limit }), entries: [] } : descriptor(text, { limit });
      const growth = await grown(decisions, () => decisions.ask(request('d', own)));
      const prefix = `rate_limit.${metricKey}`;
      t.strictSame(growth, { [`${prefix}.total_hits`]: 1, [`${prefix}.within_limit`]: 1 }, text);
    }
  });
}

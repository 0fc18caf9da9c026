import { choice } from '../kinds/kinds.ts';
import { derivedSetting } from '../kinds/setting.ts';

/** What is answered while the counter store fails. */
export const storeFailure = {
  title: 'Counter store failures',
  introduction: 'How requests are answered while the counter store is unavailable.',
  settings: {
    storeFailureMode: derivedSetting({
      names: ['STORE_FAILURE_MODE'],
      kind: choice({
        texts: { error: 'error', allow: 'allow', deny: 'deny', local: 'local' },
        letterCase: 'exact',
      }),
      default: '`allow` with memcached, otherwise `error`',
      help:
        'How to answer requests that the store cannot count. `error` returns an error, and the failure ' +
        'setting of the proxy decides. `allow` treats every count as 0. `deny` treats every limit as used ' +
        'up. `local` counts in this process until the store is available again.',
    }),
  },
} as const;

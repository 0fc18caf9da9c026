import { choice } from '../kinds/kinds.ts';
import { derivedSetting } from '../kinds/setting.ts';

/** What is answered while the counter store fails. */
export const storeFailure = {
  title: 'When the counter store fails',
  settings: {
    storeFailureMode: derivedSetting({
      names: ['STORE_FAILURE_MODE'],
      kind: choice({
        texts: { error: 'error', allow: 'allow', deny: 'deny', local: 'local' },
        letterCase: 'exact',
      }),
      default: '`error`, with memcached `allow`',
      help:
        'What a request gets that the store cannot count: an error, for which the proxy has a setting of its own; ' +
        '`allow`: counts are taken as 0; `deny`: limits are taken as used up; `local`: it is counted in this process ' +
        'until the store is back.',
    }),
  },
} as const;

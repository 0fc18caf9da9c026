import type { LogLevel } from '../../base/logger.ts';
import { choice } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

// The first text of a level is the one that is shown.
const LEVEL_TEXTS = {
  panic: 'panic',
  fatal: 'fatal',
  error: 'error',
  warn: 'warning',
  warning: 'warning',
  info: 'info',
  debug: 'debug',
  trace: 'trace',
} satisfies Readonly<Record<string, LogLevel>>;

/** What the process writes about itself (spec 2.7). */
export const logging = {
  title: 'Logging',
  settings: {
    logLevel: setting({
      names: ['LOG_LEVEL'],
      kind: choice({ texts: LEVEL_TEXTS, letterCase: 'ignored' }),
      default: 'warning',
      help:
        'Least severe level that is logged. The line that names the addresses and the store once Sluice is ready is logged at ' +
        'every level. A message that is logged 200 times without a pause is logged once a second from then on, with the field `suppressedLines`. `debug` adds the settings, every rejected `/json` request and every failed connection; `trace` adds nothing.',
    }),
    logFormat: setting({
      names: ['LOG_FORMAT'],
      kind: choice({ texts: { text: 'text', json: 'json', '': 'text' }, letterCase: 'ignored' }),
      default: 'text',
      help:
        'Format of the log lines. With `json` everything on standard error is JSON, including the reasons why a start fails; the ' +
        'keys are `@message`, `@timestamp`, `level` and those of the fields. Empty is text.',
    }),
  },
} as const;

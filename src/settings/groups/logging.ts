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
  introduction: 'What Sluice logs, and in which format.',
  settings: {
    logLevel: setting({
      names: ['LOG_LEVEL'],
      kind: choice({ texts: LEVEL_TEXTS, letterCase: 'ignored' }),
      default: 'warning',
      help:
        'Minimum level of messages that are logged. The startup message with the addresses and the store ' +
        'is always logged. `debug` adds the settings, every rejected `/json` request and every failed ' +
        'connection; `trace` adds nothing more. A message that repeats 200 times without a pause is then ' +
        'logged at most once a second, with the field `suppressedLines`.',
    }),
    logFormat: setting({
      names: ['LOG_FORMAT'],
      kind: choice({ texts: { text: 'text', json: 'json', '': 'text' }, letterCase: 'ignored' }),
      default: 'text',
      help:
        'Format of log lines. With `json`, everything on standard error is JSON, including the reasons ' +
        'why Sluice cannot start; the keys are `@message`, `@timestamp`, `level` and those of the fields. ' +
        'An empty value is `text`.',
    }),
  },
} as const;

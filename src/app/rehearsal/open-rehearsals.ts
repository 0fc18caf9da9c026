import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import { RehearsalPublisher } from '../../rehearsal/rehearsal-channel.ts';
import { RehearsalRefused, Rehearsals } from '../../rehearsal/rehearsals.ts';
import type { LoadSettings } from '../../rules/parse/load.ts';
import type { RuleLoad } from '../../rules/rule-loads.ts';
import { FileRuleSource } from '../../rules/source/file-source.ts';
import type { Settings } from '../../settings/table.ts';
import type { RuleCompiler } from '../rules/rule-compiler.ts';
import { installRules } from './install-rules.ts';

interface RehearsalParts {
  readonly settings: Settings;
  readonly compiler: Pick<RuleCompiler, 'compile'>;
  readonly loadSettings: LoadSettings;
  /** The source of the active rule files; null with xDS. */
  readonly activeFiles: () => FileRuleSource | null;
  /** Resolves with the last load of rules when no rules are being loaded. */
  readonly lastLoad: () => Promise<RuleLoad | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The rehearsal of the process, and what starts and stops with it. */
export interface OpenRehearsals extends Service {
  readonly rehearsals: Rehearsals;
  readonly publisher: RehearsalPublisher;
  /** The name of the channel, for other threads. */
  readonly channel: string;
}

/** Creates the rehearsal of the process. When it starts, it watches `RUNTIME_CANDIDATE`. */
export function createRehearsals(parts: RehearsalParts): OpenRehearsals {
  const { settings, compiler, loadSettings, activeFiles, clock, logger } = parts;
  const channel = randomUUID();
  const publisher = new RehearsalPublisher(channel);
  const rehearsals = new Rehearsals({
    compile: (files, load) => compiler.compile(files, load),
    publisher,
    settings: loadSettings,
    install: async files => {
      await installRules(files, settings, activeFiles());
      const load = await parts.lastLoad();
      if (load === undefined || load.outcome === 'active') return;
      throw new RehearsalRefused(
        `The rule files were replaced, but the rules are not active: ${load.reasons.join('; ')}`,
      );
    },
    clock,
    logger,
  });
  const candidate = candidateFiles(parts, rehearsals);
  return {
    name: 'rehearsal',
    rehearsals,
    publisher,
    channel,
    start: async () => candidate?.start(),
    stop: async () => {
      await candidate?.stop();
      rehearsals.stop();
      publisher.close();
    },
  };
}

function candidateFiles(
  { settings, clock, logger }: RehearsalParts,
  rehearsals: Rehearsals,
): FileRuleSource | null {
  const { runtimeCandidate, runtimeIgnoreDotFiles: ignoreDotFiles } = settings;
  if (runtimeCandidate === '') return null;
  const root = resolve(runtimeCandidate);
  rehearsals.from(root);
  const directory = { root, subdirectory: '', appDirectory: '', ignoreDotFiles, watchRoot: false };
  return new FileRuleSource({ ...directory, logger, clock }, rehearsals);
}

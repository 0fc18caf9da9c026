import { resolve } from 'node:path';
import type { Service } from '../../base/lifecycle.ts';
import { RehearsalPublisher } from '../../rehearsal/rehearsal-channel.ts';
import { RehearsalRefused, Rehearsals } from '../../rehearsal/rehearsals.ts';
import type { RuleFile } from '../../rules/rule-set.ts';
import { FileRuleSource } from '../../rules/source/file-source.ts';
import type { RuleLoad } from '../../rules/words/rule-loads.ts';
import { loadSettingsOf } from '../decision/engine-settings.ts';
import type { RuleCompiler } from '../rules/rule-compiler.ts';
import type { Surroundings } from '../surroundings.ts';
import { installRules } from './install-rules.ts';

/** The rehearsal of the process, and what starts and stops with it. */
export interface OpenRehearsals extends Service {
  readonly rehearsals: Rehearsals;
  readonly publisher: RehearsalPublisher;
}

/**
 * Creates the rehearsal of the process. When it starts, it watches `RUNTIME_CANDIDATE`.
 *
 * @param overlayFiles returns the active overlay files; candidate rules are rehearsed with them
 * @param activeFiles returns the source of the active rule files; null with xDS
 * @param lastLoad resolves with the last load of rules when no rules are being loaded
 */
export function createRehearsals(
  primary: Omit<Surroundings, 'stats' | 'random'>,
  compiler: Pick<RuleCompiler, 'compile'>,
  overlayFiles: () => readonly RuleFile[],
  activeFiles: () => FileRuleSource | null,
  lastLoad: () => Promise<RuleLoad | undefined>,
): OpenRehearsals {
  const { settings, clock, logger } = primary;
  const publisher = new RehearsalPublisher();
  const rehearsals = new Rehearsals({
    compile: (files, load) => compiler.compile([...overlayFiles(), ...files], load),
    publisher,
    settings: loadSettingsOf(settings),
    install: async files => {
      await installRules(files, settings, activeFiles());
      const load = await lastLoad();
      if (load === undefined || load.outcome === 'active') return;
      throw new RehearsalRefused(
        `The rule files were replaced, but the rules are not active: ${load.reasons.join('; ')}`,
      );
    },
    clock,
    logger,
  });
  const candidate = candidateFiles(primary, rehearsals);
  return {
    name: 'rehearsal',
    rehearsals,
    publisher,
    start: async () => candidate?.start(),
    stop: async () => {
      await candidate?.stop();
      rehearsals.stop();
      publisher.close();
    },
  };
}

function candidateFiles(
  { settings, clock, logger }: Omit<Surroundings, 'stats' | 'random'>,
  rehearsals: Rehearsals,
): FileRuleSource | null {
  const { runtimeCandidate, runtimeIgnoreDotFiles: ignoreDotFiles } = settings;
  if (runtimeCandidate === '') return null;
  const root = resolve(runtimeCandidate);
  rehearsals.from(root);
  const directory = { root, subdirectory: '', appDirectory: '', ignoreDotFiles, watchRoot: false };
  const setting = 'RUNTIME_CANDIDATE';
  return new FileRuleSource({ ...directory, setting, logger, clock }, rehearsals);
}

import { bool, checkedText, choice, file, flag, path, setting } from '../kinds/kinds.ts';

const directory = checkedText({
  label: 'path',
  accepts: 'the path of a directory',
  holds: text => text !== '',
});

/** Source of the rules, and when they count as loaded (spec 2.7). */
export const rules = {
  title: 'Rules',
  introduction:
    'Where rate limit rules come from, when they are reloaded, and what happens until the first rules are ' +
    'loaded.',
  settings: {
    configType: setting({
      names: ['CONFIG_TYPE'],
      kind: choice({ texts: { FILE: 'file', GRPC_XDS_SOTW: 'xds' }, letterCase: 'exact' }),
      default: 'file',
      help: 'Source of the rules: files on disk (`FILE`), or an xDS server (`GRPC_XDS_SOTW`).',
    }),
    runtimeRoot: setting({
      names: ['RUNTIME_ROOT'],
      kind: directory,
      default: '/srv/runtime_data/current',
      help:
        'Root of the rules directory. Rules are read from ' +
        '`RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY`.',
    }),
    runtimeSubdirectory: file(
      ['RUNTIME_SUBDIRECTORY'],
      'Directory below `RUNTIME_ROOT`. If empty, this level is skipped.',
    ),
    runtimeAppDirectory: setting({
      names: ['RUNTIME_APPDIRECTORY'],
      kind: path,
      default: 'config',
      help:
        'Directory below `RUNTIME_SUBDIRECTORY` that contains the rule files, `*.yaml` and `*.yml`. If ' +
        'empty, this level is skipped.',
    }),
    runtimeIgnoreDotFiles: flag(
      ['RUNTIME_IGNOREDOTFILES'],
      'Ignore rule files whose name starts with a dot.',
    ),
    runtimeWatchRoot: setting({
      names: ['RUNTIME_WATCH_ROOT'],
      kind: bool,
      default: true,
      help:
        'If `true`, the rules are reloaded when `RUNTIME_ROOT`, or another symbolic link on the path to ' +
        'the rule files, is swapped. Set it to `false` if the rules are in a plain directory: they are ' +
        'then reloaded when a file in the directory changes.',
    }),
    runtimeCandidate: file(
      ['RUNTIME_CANDIDATE'],
      'Directory with candidate rule files, `*.yaml` and `*.yml`. They are decided in shadow beside the ' +
        'active rules, and reloaded when a file changes. See docs/rehearsal.md. Empty for none.',
    ),
    rulesOverlay: file(
      ['RULES_OVERLAY'],
      'Directory with overlay files, `*.yaml` and `*.yml`, which change the rules of any source: windows, ' +
        'algorithms, several limits, modes and more, beside what a controller sends. They are reloaded when a ' +
        'file changes. See docs/overlay.md. Empty for none.',
    ),
    mergeDomainConfig: flag(
      ['MERGE_DOMAIN_CONFIG'],
      'Allow several files, or several resources of an xDS server, to contain rules of the same domain. ' +
        'By default that is an error.',
    ),
    forceStartWithoutInitialConfig: flag(
      ['FORCE_START_WITHOUT_INITIAL_CONFIG'],
      'Open the ports before rules are loaded. By default Sluice waits for the first rules.',
    ),
    healthyWithAtLeastOneConfigLoaded: flag(
      ['HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED'],
      'Report healthy only while rules of at least one domain are loaded.',
    ),
  },
} as const;

import { bool, checkedText, choice, path } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

const directory = checkedText({
  label: 'path',
  accepts: 'the path of a directory',
  holds: text => text !== '',
});

/** Where rules come from and when they count as loaded (spec 2.7). */
export const rules = {
  title: 'Rules',
  settings: {
    configType: setting({
      names: ['CONFIG_TYPE'],
      kind: choice({ texts: { FILE: 'file', GRPC_XDS_SOTW: 'xds' }, letterCase: 'exact' }),
      default: 'file',
      help: 'Source of the rules: files on disk, or an xDS server.',
    }),
    runtimeRoot: setting({
      names: ['RUNTIME_ROOT'],
      kind: directory,
      default: '/srv/runtime_data/current',
      help:
        'Root of the directory of rules. Rules are read from ' +
        '`RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY`.',
    }),
    runtimeSubdirectory: setting({
      names: ['RUNTIME_SUBDIRECTORY'],
      kind: path,
      default: '',
      help: 'Directory below the root. Empty leaves this level out.',
    }),
    runtimeAppDirectory: setting({
      names: ['RUNTIME_APPDIRECTORY'],
      kind: path,
      default: 'config',
      help: 'Directory that holds the rule files, `*.yaml` and `*.yml`. Empty leaves this level out.',
    }),
    runtimeIgnoreDotFiles: setting({
      names: ['RUNTIME_IGNOREDOTFILES'],
      kind: bool,
      default: false,
      help: 'Skip files whose name begins with a dot.',
    }),
    runtimeWatchRoot: setting({
      names: ['RUNTIME_WATCH_ROOT'],
      kind: bool,
      default: true,
      help:
        '`true` reloads the rules when `RUNTIME_ROOT`, or another symbolic link on the way to the rule files, is swapped. ' +
        'Set `false` when the rules are in a plain directory: they are then reloaded when a file in it changes.',
    }),
    mergeDomainConfig: setting({
      names: ['MERGE_DOMAIN_CONFIG'],
      kind: bool,
      default: false,
      help: 'Allow several files, or several resources of an xDS server, to hold rules of one domain.',
    }),
    forceStartWithoutInitialConfig: setting({
      names: ['FORCE_START_WITHOUT_INITIAL_CONFIG'],
      kind: bool,
      default: false,
      help: '`true` opens the ports before rules are loaded; `false` waits for the first rules.',
    }),
    healthyWithAtLeastOneConfigLoaded: setting({
      names: ['HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED'],
      kind: bool,
      default: false,
      help: 'Report healthy only while rules of at least one domain are loaded.',
    }),
  },
} as const;

import { StoreUrlFault, type StoreUse, storeAtUrl } from '../../app/tasks/store-urls.ts';
import { DAY_MS, systemClock } from '../../base/clock.ts';
import { asError, Fault } from '../../base/fault.ts';
import { SettingsRefused } from '../../settings/faults.ts';
import { loadSettings } from '../../settings/load.ts';
import { refuseUsed } from '../../tasks/move/last-use.ts';
import { moveTasks } from '../../tasks/move/move.ts';
import { deleteMoveRecord, moveRecordOf } from '../../tasks/move/move-record.ts';
import { MoveRefused, type MovingStore } from '../../tasks/move/moving-store.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { MOVE_FLAGS, REOPEN_FLAGS } from './move-flags.ts';
import { MoveReport } from './move-report.ts';
import { StoreLog } from './store-log.ts';
import { confirm, noArguments, report } from './tasks-command.ts';

/** `sluice tasks move` */
export function move(args: readonly string[], io: CliIo): Promise<number> {
  return toItsEnd(() => moveBetween(args, io));
}

async function moveBetween(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, MOVE_FLAGS);
  noArguments(positionals);
  const fromUrl = urlOf(flags.from, '--from', 'SLUICE_MOVE_FROM', io);
  const toUrl = urlOf(flags.to, '--to', 'SLUICE_MOVE_TO', io);
  const from = await openStore(fromUrl, '--from', 'existing', io);
  const to = await openStore(toUrl, '--to', 'new_or_existing', io);
  if (from.shown === to.shown) throw new UsageFault(`${from.shown} cannot be moved to itself.`);
  return whileOpen([from, to], async () => {
    for (const { store, shown } of [from, to]) {
      await refuseUsed({ store, shown }, systemClock, () => {
        io.stderr(`A process has used ${shown} a moment ago. Waiting to see whether it still does.\n`);
      });
    }
    const output = new MoveReport(io, { from: from.shown, to: to.shown }, flags.json, systemClock);
    const result = await moveTasks(from, to, output);
    output.ended(result);
    return ['differs', 'used'].includes(result.kind) ? EXIT.refused : EXIT.done;
  });
}

/** `sluice tasks reopen` */
export function reopen(args: readonly string[], io: CliIo): Promise<number> {
  return toItsEnd(() => reopenStore(args, io));
}

async function reopenStore(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, REOPEN_FLAGS);
  noArguments(positionals);
  const opened = await openStore(
    urlOf(flags.store, '--store', 'SLUICE_MOVE_FROM', io),
    '--store',
    'existing',
    io,
  );
  return whileOpen([opened], async () => {
    const { store, shown } = opened;
    const record = await moveRecordOf(store);
    if (record?.direction === 'in')
      throw new CommandFault(`the tasks of ${record.other} are being moved into ${shown}: finish that move.`);
    if (record === null) {
      report({ reopened: false }, `${shown} was not moved: the service can start on it.`, flags, io);
      return EXIT.done;
    }
    await confirm(`let the service run the tasks of ${shown}, which are also in ${record.other}`, flags, io);
    await deleteMoveRecord(store);
    report({ reopened: true }, `The service can start on ${shown}.`, flags, io);
    return EXIT.done;
  });
}

/** Keeps the process alive, which would end while stores only wait to try something again. */
async function toItsEnd(run: () => Promise<number>): Promise<number> {
  const timer = setInterval(() => {}, DAY_MS);
  try {
    return await run();
  } finally {
    clearInterval(timer);
  }
}

function urlOf(flag: string, flagName: string, variable: string, io: CliIo): string {
  const url = flag !== '' ? flag : (io.env[variable] ?? '');
  if (url !== '') return url;
  throw new UsageFault(
    `no store is given: give ${flagName} or set ${variable}, such as sqlite:/var/lib/sluice.`,
  );
}

async function openStore(url: string, flagName: string, use: StoreUse, io: CliIo): Promise<MovingStore> {
  try {
    const settings = loadSettings(storeEnvironment(io.env));
    return await storeAtUrl(url, use, {
      settings,
      clock: systemClock,
      random: Math.random,
      logger: new StoreLog(io),
    });
  } catch (failure) {
    if (failure instanceof StoreUrlFault) throw new UsageFault(`${flagName}: ${failure.message}.`);
    if (failure instanceof Fault || failure instanceof SettingsRefused)
      throw new CommandFault(failure.message, { cause: failure });
    throw failure;
  }
}

/** Only what concerns stores: a fault in another setting of the service is no reason not to move. */
function storeEnvironment(env: CliIo['env']): CliIo['env'] {
  const names = Object.keys(env).filter(
    name => /^TASKS_(?:REDIS|POSTGRES)_/.test(name) || name === 'TASKS_SQLITE_SYNCHRONOUS',
  );
  return Object.fromEntries(names.map(name => [name, env[name]]));
}

/** Starts the stores, and stops them at the end. */
async function whileOpen(stores: readonly MovingStore[], run: () => Promise<number>): Promise<number> {
  const started: MovingStore[] = [];
  try {
    for (const each of stores) {
      await each.store.start();
      started.push(each);
    }
    return await run();
  } catch (failure) {
    if (failure instanceof CommandFault) throw failure;
    const { message } = asError(failure);
    const isInterrupted = started.length === stores.length && !(failure instanceof MoveRefused);
    const more = isInterrupted ? '. To go on, run the same command again.' : '';
    throw new CommandFault(message + more, { cause: failure });
  } finally {
    for (const { store } of started.reverse()) await store.stop();
  }
}

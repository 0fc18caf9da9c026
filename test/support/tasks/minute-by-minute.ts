import { Cron } from 'croner';
import type { Schedule } from '../../../src/tasks/model/documents.ts';

/**
 * What is compared with: a walk over every minute, with the local time that the runtime prints for it, and another
 * implementation that says whether that time matches. It shares nothing with what it checks.
 */
export class MinuteByMinute {
  readonly #format: Intl.DateTimeFormat;
  /** Of each minute: what the clock of the zone shows, as milliseconds of UTC. */
  readonly #readings: number[] = [];
  readonly #from: number;

  /** @param from the first minute · @param minutes how many */
  constructor(zone: string, from: number, minutes: number) {
    this.#from = from;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    for (let minute = 0; minute < minutes; minute++)
      this.#readings.push(this.#reading(from + minute * 60_000));
  }

  #reading(ms: number): number {
    const [month, day, year, hour, minute] = this.#format.format(ms).match(/\d+/g)!.map(Number);
    return Date.UTC(year, month - 1, day, hour, minute);
  }

  /** The minutes at which it fires, the first hours, which only tell what was read before, left out. */
  fires(text: string, dst: Schedule['dst'], leaveOut: number): number[] {
    const pattern = new Cron(text, { utcOffset: 0, mode: '5-part' });
    const appointment = text.split(' ')[1] !== '*';
    const read = new Set<number>();
    const found: number[] = [];
    let last = this.#readings[0] - 60_000;
    for (const [minute, reading] of this.#readings.entries()) {
      let fires =
        pattern.match(new Date(reading)) && !(appointment && dst.overlap === 'once' && read.has(reading));
      if (appointment && dst.gap === 'run_after') {
        for (let missing = last + 60_000; missing < reading && !fires; missing += 60_000) {
          fires = pattern.match(new Date(missing));
        }
      }
      if (fires && minute >= leaveOut) found.push(this.#from + minute * 60_000);
      read.add(reading);
      last = reading;
    }
    return found;
  }
}

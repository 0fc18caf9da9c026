import type { ByteWriter } from '../base/bytes.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { UnmappedRequest } from '../messages/json-request.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { Claims } from './claims.ts';
import type { DomainMapping } from './domain-mapping.ts';
import type { MappingCounters } from './mapping-counters.ts';
import { Mappings } from './mappings.ts';
import { CheckQueue } from './tokens/check-queue.ts';

/** What the mapping of requests needs of its thread. */
interface MapperParts {
  /** The current rules; null before any were loaded. */
  readonly rules: () => CompiledRules | null;
  readonly counters: MappingCounters;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Logger;
}

/**
 * What has become of a described request.
 *
 * - `mapped`: it has descriptors
 * - `allowed`: it has none, so no limit applies
 * - `no_mapping`: the rules of its domain do not say how requests become descriptors
 * - `no_rules`: no rules were loaded yet
 */
type MappingOutcome = 'mapped' | 'allowed' | 'no_mapping' | 'no_rules';

/** Turns requests into descriptors by the current rules, and counts what it leaves out. One for each thread. */
export class RequestMapper {
  readonly counters: MappingCounters;
  readonly #mappings: Mappings;

  constructor({ rules, counters, clock, log }: MapperParts) {
    this.counters = counters;
    const checks = new CheckQueue(clock);
    const invalid = (): void => counters.invalidTokens.add(1);
    this.#mappings = new Mappings(rules, { clock, log, checks, invalid });
  }

  /** As `Mappings.of`. */
  of(domain: string): DomainMapping | 'no_rules' | null {
    return this.#mappings.of(domain);
  }

  /**
   * Appends the descriptors of the request that `mapping` has read.
   *
   * @returns false if none is left: the request is then allowed
   */
  write(mapping: DomainMapping, writer: ByteWriter, claims: Claims | null): boolean {
    const { counters } = this;
    const count = mapping.writeDescriptors(writer, claims);
    const leftOut = mapping.descriptorCount - count;
    if (leftOut > 0) counters.leftOut.add(leftOut);
    if (count === 0) counters.withoutDescriptors.add(1);
    return count > 0;
  }

  /**
   * Appends the descriptors of a described request to the rest of it, and then calls `done`: at once, unless a token has to
   * be checked.
   *
   * @param writer holds the rest of the request; may be used for other requests meanwhile
   * @returns rejects if `done` throws
   */
  writeDescribed(
    { domain, request }: UnmappedRequest,
    writer: ByteWriter,
    done: (outcome: MappingOutcome) => void,
  ): void | Promise<void> {
    const mapping = this.of(domain);
    if (mapping === null || mapping === 'no_rules') {
      done(mapping ?? 'no_mapping');
      return;
    }
    const write = (claims: Claims | null): void => {
      mapping.request.readDescribed(request);
      done(this.write(mapping, writer, claims) ? 'mapped' : 'allowed');
    };
    mapping.request.readDescribed(request);
    const claims = mapping.readClaims();
    if (!(claims instanceof Promise)) {
      write(claims);
      return;
    }
    const rest = writer.take();
    return claims.then(checked => {
      writer.reset();
      writer.copy(rest, 0, rest.length);
      write(checked);
    });
  }
}

/** Owns telling how many workflows wait for a person, by reason: all of them. A count, never whose they are. */

import type { ProjectionStore, Telemetry } from '@tidemark/ports';
import { PARKED_REASONS_MAX, PARKED_REASONS_READ_MAX } from './limits.ts';

/** What further reasons are counted as. */
const OTHERS = 'other';

export class ParkedGauges {
  readonly #ports: { readonly store: Pick<ProjectionStore, 'parkedCounts'>; readonly telemetry: Telemetry };
  /** Reasons told so far: a gauge stands until it is set again. */
  readonly #reported = new Set<string>();

  constructor(ports: { readonly store: Pick<ProjectionStore, 'parkedCounts'>; readonly telemetry: Telemetry }) {
    this.#ports = ports;
  }

  async poll(): Promise<void> {
    const { store, telemetry } = this.#ports;
    const parked = await store.parkedCounts(PARKED_REASONS_READ_MAX);
    const counts = new Map<string, number>([...this.#reported].map((reason) => [reason, 0]));
    for (const { reason, count } of parked) {
      const name = this.#named(reason ?? OTHERS);
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
    for (const [reason, count] of counts) telemetry.gauge('workflows_parked', count, { reason });
  }

  /** Each reason is a time series, so there are not more than so many. */
  #named(reason: string): string {
    const name = this.#reported.has(reason) || this.#reported.size < PARKED_REASONS_MAX ? reason : OTHERS;
    this.#reported.add(name);
    return name;
  }
}

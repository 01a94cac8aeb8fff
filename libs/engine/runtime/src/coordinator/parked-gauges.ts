/** Owns the gauges of parked workflows by reason, over all tenants: counts alone, never whose they are. */

import type { ProjectionStore, Telemetry } from '@tidemark/ports';
import { PARKED_REASONS_MAX, PARKED_REASONS_READ_MAX } from './limits.ts';

/** The reason under which all further reasons are counted. */
const OTHERS = 'other';

export class ParkedGauges {
  readonly #ports: { readonly store: Pick<ProjectionStore, 'parkedCounts'>; readonly telemetry: Telemetry };
  /** Reasons reported so far: a gauge keeps its value until it is set again. */
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

  /** Each reason is a time series, so their number is bounded. */
  #named(reason: string): string {
    const name = this.#reported.has(reason) || this.#reported.size < PARKED_REASONS_MAX ? reason : OTHERS;
    this.#reported.add(name);
    return name;
  }
}

/**
 * Owns the placing of workflows on the caller's side. Concurrent requests share one transaction. The pool of partitions grows while none is
 * free. A workflow that can't be placed is refused before anything of it exists (admission).
 */

import { LimitError } from '@tidemark/core';
import type {
  Placed,
  Placement,
  PlacementRefused,
  PlacementRequest,
  PlacementRules,
  PlaceTaken,
} from '@tidemark/ports';
import { batched } from '@tidemark/ports/batched';
import type { LamportClock, Ports, SecretPorts } from '../kernel/index.ts';
import { addPartitions } from '../projection/index.ts';
import { PLACE_BATCH_MAX } from './limits.ts';

/** The pool of partitions doubles up to this size. */
const PARTITIONS_MAX = 4_096;
/** In a pool that can't grow, this share of the partitions is reserved for tenants that have few; and the most that are reserved. */
const RESERVED_PARTITIONS_SHARE = 1 / 16;
const RESERVED_PARTITIONS_MAX = 64;
/** Delay after which a start that was refused for lack of room may be retried, in milliseconds. */
export const ADMISSION_RETRY_AFTER_MS = 1_000;

/** How long another process may take to make the rows of partitions that it added to the log, and the pause between two looks, in milliseconds. */
const GROWN_ROWS_WAIT_MS = 5_000;
const GROWN_ROWS_POLL_MS = 100;

/** Live workflows after which further starts are refused; an absent member sets no limit. */
export type Admission = Pick<PlacementRules, 'tenantOpenMax' | 'openMax'>;

export interface PlacingOptions {
  readonly ports: Pick<
    Ports,
    'log' | 'store' | 'hints' | 'queue' | 'clock' | 'digest' | 'prng' | 'secrets' | 'telemetry'
  > &
    SecretPorts;
  readonly lamport: LamportClock;
  /** Largest size of the pool of partitions. */
  readonly partitionsMax?: number | undefined;
  readonly admission?: Admission | undefined;
}

export class Placing {
  readonly #options: PlacingOptions;
  readonly #partitionsMax: number;
  readonly #place: (request: PlacementRequest) => Promise<Placed | undefined>;
  /** Whether the pool has reached its largest size; it never shrinks. */
  #isFull = false;
  #hasPolled = false;

  constructor(options: PlacingOptions) {
    this.#options = options;
    this.#partitionsMax = options.partitionsMax ?? PARTITIONS_MAX;
    this.#place = batched(PLACE_BATCH_MAX, (requests) => this.#placeAll(requests));
  }

  /** Throws `LimitError` (`pool-full`, `tenant-full`, `fleet-full`, each with `retryAfterMs`) and what the store throws. */
  async place(request: PlacementRequest): Promise<Placement | PlaceTaken> {
    const placed = await this.#place(request);
    if (placed === undefined) throw poolFull();
    if ('refusedBy' in placed) throw tooManyOpen(placed, request, this.#options.admission);
    return placed;
  }

  /**
   * Places all requests. It grows the pool while no partition is free, and shares partitions once the pool may not grow. Of several
   * requests for one id, only the first may be reported as created.
   */
  async #placeAll(requests: readonly PlacementRequest[]): Promise<readonly (Placed | undefined)[]> {
    const placed = new Map<string, Placed>();
    let waiting = requests;
    await this.#poll();
    for (let isShared = false; ; ) {
      for (const each of await this.#options.ports.store.place(waiting, this.#rules())) placed.set(each.workflow, each);
      waiting = waiting.filter((request) => !placed.has(request.workflow));
      if (waiting.length === 0 || isShared) break;
      if (await this.#grow(waiting.length)) continue;
      isShared = true;
      waiting = waiting.map((request) => ({ ...request, mode: 'shared' }));
    }
    const answered = new Set<string>();
    return requests.map(({ workflow }) => {
      const placement = placed.get(workflow);
      if (placement === undefined || !('created' in placement)) return placement;
      if (answered.has(workflow)) return { ...placement, created: false };
      answered.add(workflow);
      return placement;
    });
  }

  /** Reads once whether the pool already had its largest size. It ignores failures, because placing does not depend on the log. */
  async #poll(): Promise<void> {
    if (this.#hasPolled) return;
    this.#hasPolled = true;
    const count = await this.#options.ports.log.partitionCount().catch(() => 0);
    this.#isFull ||= count >= this.#partitionsMax;
  }

  /** In a pool that can't grow, a tenant's backlog leaves some partitions to tenants that have none. */
  #rules(): PlacementRules {
    const share = Math.floor(this.#partitionsMax * RESERVED_PARTITIONS_SHARE);
    const keepFreeCount = this.#isFull ? Math.min(RESERVED_PARTITIONS_MAX, share) : 0;
    return { keepFreeCount, ...this.#options.admission };
  }

  /** Doubles the pool, or grows it further for more requests. False when it has reached its largest size. */
  async #grow(wantedCount: number): Promise<boolean> {
    const { log } = this.#options.ports;
    let count = await log.partitionCount();
    const isAhead = !(await this.#hasRows(count));
    if (!isAhead) {
      const target = Math.min(Math.max(count * 2, 2 ** Math.ceil(Math.log2(count + wantedCount))), this.#partitionsMax);
      if (target <= count) return false;
      count = await log.growTo(target);
    }
    this.#isFull = count >= this.#partitionsMax;
    // Whoever else let the log grow makes the rows too: a second fence would refuse the openings that it has placed by then.
    for (let waitedMs = 0; isAhead && waitedMs < GROWN_ROWS_WAIT_MS; waitedMs += GROWN_ROWS_POLL_MS) {
      await this.#options.ports.clock.sleep(GROWN_ROWS_POLL_MS);
      if (await this.#hasRows(count)) return true;
    }
    await addPartitions(this.#options, count);
    return true;
  }

  async #hasRows(count: number): Promise<boolean> {
    return (await this.#options.ports.store.counts()).partitionCount >= count;
  }
}

const poolFull = (): LimitError =>
  new LimitError(
    'pool-full',
    "Every partition holds another tenant's live workflows, and the pool may not grow further. Raise TIDEMARK_PARTITIONS_MAX.",
    { retryAfterMs: ADMISSION_RETRY_AFTER_MS },
  );

function tooManyOpen(
  { refusedBy }: PlacementRefused,
  { workflow, tenant }: PlacementRequest,
  { tenantOpenMax, openMax }: Admission = {},
): LimitError {
  const details = { workflow, retryAfterMs: ADMISSION_RETRY_AFTER_MS };
  return refusedBy === 'tenantOpenMax'
    ? new LimitError(
        'tenant-full',
        `Tenant ${tenant} has ${tenantOpenMax} live workflows, as many as it may (TIDEMARK_TENANT_OPEN_MAX); ${workflow} was not started. Start it again when some have ended.`,
        { ...details, tenant, limit: tenantOpenMax },
      )
    : new LimitError(
        'fleet-full',
        `${openMax} workflows are live, as many as may be (TIDEMARK_OPEN_MAX); ${workflow} was not started. Start it again when some have ended.`,
        { ...details, limit: openMax },
      );
}

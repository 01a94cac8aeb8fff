/**
 * Owns one coordinator: projector, dispatcher, lease keeper, timers and sweeps, each in its own loop that survives unavailable servers. Any
 * number of coordinators may run. They divide partitions by ranges, and the id of everything else that they write derives from its cause.
 */

import { TidemarkError } from '@tidemark/core';
import type { Placement, WorkflowSearch } from '@tidemark/ports';
import { BudgetRoom } from '../agent/index.ts';
import { QUEUES_PERIOD_MS, QueuePauses } from '../control/index.ts';
import { Starter } from '../inbox/index.ts';
import {
  check,
  type Health,
  type LamportClock,
  type Loop,
  type LoopOptions,
  type Ports,
  pollRestMs,
  progressCheck,
  recentCheck,
  startLoop,
  UNREADABLE,
} from '../kernel/index.ts';
import { Inbox } from '../lease/index.ts';
import { addPartitions, Projector, type TraceSink } from '../projection/index.ts';
import { Children, COMPENSATION_PERIOD_MS, Compensations, Continuations } from '../sagas/index.ts';
import { Demand, type Pool } from './demand.ts';
import { reportDemand } from './demand-gauges.ts';
import { Dispatcher } from './dispatcher.ts';
import { FairShares } from './fair-shares.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import {
  DEMAND_REPORTED_PERIOD_MS,
  PARKED_POLL_PERIOD_MS,
  PROJECTION_GATHERING,
  RANGE_RENEW_PERIOD_MS,
  RANGE_TTL_MS,
  REDISPATCH_PAGE_COUNT,
  REDISPATCH_PERIOD_MS,
  TIMER_PERIOD_MS,
} from './limits.ts';
import { NewBuilds } from './new-builds.ts';
import { ParkedGauges } from './parked-gauges.ts';
import { PausedQueueGauges } from './paused-queue-gauges.ts';
import { StuckGauges } from './stuck.ts';
import { Timers } from './timers.ts';

/** Period of the poll for workflows that wait for budget, in milliseconds. */
const BUDGET_ROOM_PERIOD_MS = 1_000;
/** Period of the poll for work between parents and children, in milliseconds. */
const CHILD_PERIOD_MS = 1_000;
/** Period of the poll for runs to continue, in milliseconds. */
export const CONTINUATION_PERIOD_MS = 1_000;
/**
 * Delay in milliseconds after which a starting coordinator begins its polls, except those of leases and dispatch: a store with one session
 * serves them in turn.
 */
const POLLS_BEGIN_MS = 250;
/** Period of the check which workers live, in milliseconds. */
export const LEASE_CHECK_PERIOD_MS = 250;
/** Period of the sweep of all end offsets, which finds lost hints, in milliseconds. */
export const SWEEP_PERIOD_MS = 5_000;
/** A placement whose opening is not known to be in the log is appended again after this many milliseconds. */
export const UNAPPENDED_AGE_MS = 5_000;
/** A coordinator is not ready when more appended events than this are missing from its own partitions' rows. */
export const READY_LAG_MAX_EVENTS = 50_000;
/** How long a coordinator's measured lag counts, in milliseconds: a few sweeps. */
export const READY_LAG_KNOWN_MS = 3 * SWEEP_PERIOD_MS;
/** Workflows at which another release stopped, in one page. */
const UNREADABLE_PAGE_COUNT = 1_000;

export interface CoordinatorOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  /** This incarnation's name among coordinators; never reused. */
  readonly name: string;
  /** Receives every failure that a loop survived; for logs. */
  readonly onError?: (where: string, error: unknown) => void;
  /** Draws traces of the events that are folded here. */
  readonly traces?: TraceSink | undefined;
  /** The paused queues; by default this coordinator reads them itself. */
  readonly pauses?: QueuePauses | undefined;
  /** Pools whose demand is reported; default: one of all workers. */
  readonly pools?: readonly Pool[] | undefined;
}

export class Coordinator {
  readonly #options: CoordinatorOptions;
  /** The amount of work for each pool of workers. */
  readonly demand: Demand;
  #isStopped = false;
  readonly #projector: Projector;
  readonly #dispatcher: Dispatcher;
  readonly #pausedQueues: PausedQueueGauges;
  readonly #leases: LeaseKeeper;
  readonly #newBuilds: NewBuilds;
  readonly #timers: Timers;
  readonly #starter: Starter;
  readonly #compensations: Compensations;
  readonly #children: Children;
  readonly #continuations: Continuations;
  readonly #budgets: BudgetRoom;
  #revoking: Loop | undefined;
  #readiness: Loop | undefined;
  #compensationLoop: Loop | undefined;
  #parenting: Loop | undefined;
  #continuing: Loop | undefined;
  #retrying: Loop | undefined;
  readonly #loops = new Map<string, Loop>();
  #unsubscribe: (() => Promise<void>) | undefined;
  #unwatch: (() => Promise<void>) | undefined;
  #ensuring: Promise<void> | undefined;
  /** When ranges were last divided, on the monotonic clock. */
  #sharedMs: number | undefined;
  /** Events of its own partitions that rows did not show, and when it compared them. */
  #lag: { readonly eventCount: number; readonly atMs: number } | undefined;
  /** Partitions of the log at the last sweep; the first sweep makes rows for all that it finds. */
  #seenCount = Number.POSITIVE_INFINITY;
  /** False: rows are being built from the log. */
  #isStoreReady = false;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    const { ports, lamport } = options;
    const inbox = new Inbox(ports, lamport);
    this.demand = new Demand(ports.clock, options.pools);
    const { pauses = new QueuePauses(ports) } = options;
    this.#pausedQueues = new PausedQueueGauges(pauses, ports.telemetry);
    const stuck = new StuckGauges(ports.telemetry);
    this.#dispatcher = new Dispatcher({
      ports,
      pauses,
      stuck,
      demand: this.demand,
      onError: (error) => this.#report('dispatch', error),
    });
    this.#projector = new Projector({
      ports,
      lamport,
      gathering: PROJECTION_GATHERING,
      onApplied: (streams, next, events) => {
        this.demand.applied(streams);
        this.#dispatcher.applied(streams, next, events);
        // While rows are rebuilt they show leases that ended long ago.
        if (!this.#isStoreReady) this.#readiness?.wake();
        if (this.#leases.applied(streams) && this.#isStoreReady) this.#revoking?.wake();
        if (this.#compensations.applied(streams)) this.#compensationLoop?.wake();
        if (streams.some(({ state }) => hasChildWork(state))) this.#parenting?.wake();
        if (this.#continuations.applied(streams)) this.#continuing?.wake();
        if (this.#newBuilds.applied(streams)) this.#retrying?.wake();
      },
      onError: (error) => this.#failed('projection', error),
      traces: options.traces,
      isRebuilding: () => !this.#isStoreReady,
    });
    this.#newBuilds = new NewBuilds({
      store: ports.store,
      inbox,
      owns: (partition) => this.#projector.owns(partition),
    });
    const shares = new FairShares();
    this.#leases = new LeaseKeeper(ports, inbox, this.demand, (view) => {
      stuck.seen(view);
      const keeps = shares.seen(view, ports.clock.monotonicMs());
      for (const [holder, max] of keeps) ports.liveness.share(holder, max);
      if (this.#newBuilds.seen(view)) this.#retrying?.wake();
    });
    this.#timers = new Timers({ ports, inbox, onError: (error) => this.#report('timers', error) });
    this.#starter = new Starter({ ports, lamport });
    const onError = (error: unknown): void => this.#report('compensation', error);
    this.#compensations = new Compensations({ ports, inbox, starter: this.#starter, onError });
    const onChild = (error: unknown): void => this.#report('children', error);
    this.#children = new Children({ ports, inbox, lamport, starter: this.#starter, onError: onChild });
    const onNext = (error: unknown): void => this.#report('continuations', error);
    this.#continuations = new Continuations({ ports, lamport, starter: this.#starter, onError: onNext });
    this.#budgets = new BudgetRoom({ ports, inbox, onError: (error) => this.#report('budgets', error) });
  }

  /** Prepares the store, takes ranges, and starts all loops. Throws when a server is unavailable or misconfigured at the start. */
  async start(): Promise<void> {
    const { ports } = this.#options;
    await ports.store.ensure();
    await this.#options.traces?.begin((partition) => this.#projector.owns(partition));
    await this.#shareRanges();
    this.#projector.start();
    this.#unsubscribe = await ports.hints.subscribe('appended', (partitions) => this.#projector.hint(partitions));
    await this.#sweepLog();
    this.#revoking = this.#loop('leases', { periodMs: LEASE_CHECK_PERIOD_MS }, () => this.#leases.check());
    const dispatchMs = (tookMs: number): number => pollRestMs(tookMs, REDISPATCH_PERIOD_MS);
    const dispatch = this.#loop('dispatch', { periodMs: dispatchMs }, () => this.#dispatcher.sweep());
    const sweep = this.#loop('sweep', { periodMs: SWEEP_PERIOD_MS, firstMs: SWEEP_PERIOD_MS }, () => this.#sweepLog());
    const later = (where: string, periodMs: number, body: () => Promise<void>): Loop =>
      this.#loop(where, { periodMs, firstMs: POLLS_BEGIN_MS }, body);
    this.#compensationLoop = later('compensations', COMPENSATION_PERIOD_MS, () => this.#compensations.poll());
    this.#parenting = later('children', CHILD_PERIOD_MS, () => this.#children.poll());
    this.#continuing = later('continuations', CONTINUATION_PERIOD_MS, () => this.#continuations.poll());
    this.#retrying = this.#loop('builds', { periodMs: Number.POSITIVE_INFINITY }, () => this.#newBuilds.poll());
    later('budgets', BUDGET_ROOM_PERIOD_MS, () => this.#budgets.poll());
    later('demand', DEMAND_REPORTED_PERIOD_MS, async () => reportDemand(this.demand, ports.telemetry));
    later('queues', QUEUES_PERIOD_MS, async () => {
      if (await this.#pausedQueues.poll()) dispatch.wake();
    });
    const parked = new ParkedGauges(ports);
    later('parked', PARKED_POLL_PERIOD_MS, () => parked.poll());
    later('ranges', RANGE_RENEW_PERIOD_MS, () => this.#shareRanges());
    // Checked for ever: another process may have rebuilt the rows and died before they were complete.
    this.#readiness = this.#loop('readiness', { periodMs: LEASE_CHECK_PERIOD_MS }, async () => {
      const wasReady = this.#isStoreReady;
      this.#isStoreReady = await ports.store.markReady();
      if (this.#isStoreReady && !wasReady) this.#revoking?.wake();
    });
    later('timers', TIMER_PERIOD_MS, () => this.#timers.fire());
    later('openings', UNAPPENDED_AGE_MS, () => this.#appendOpenings());
    this.#unwatch = await ports.liveness.watch(() => {
      this.#leases.suspect();
      this.#revoking?.wake();
      // The worker may have died before it could publish its last append, which may be a claim.
      sweep.wake();
    });
  }

  /** Ready: it knows its partitions, and their rows show nearly all appended events. */
  health(): Health {
    const nowMs = this.#options.ports.clock.monotonicMs();
    const { eventCount = 0, atMs } = this.#lag ?? {};
    const isBehind = eventCount > READY_LAG_MAX_EVENTS;
    return {
      ready: [
        recentCheck('ranges', this.#sharedMs, { nowMs, maxMs: RANGE_TTL_MS, what: 'its partitions were shared out' }),
        check('rows', !this.#isStoreReady && 'they are being rebuilt from the log, and are not complete yet'),
        recentCheck('lag', atMs, { nowMs, maxMs: READY_LAG_KNOWN_MS, what: 'rows were compared with the log' }),
        check('projection', isBehind && `${eventCount} events behind the log, at most ${READY_LAG_MAX_EVENTS}`),
      ],
      live: [
        progressCheck('projection', this.#projector.state()),
        ...Array.from(this.#loops, ([name, loop]) => progressCheck(name, loop.state())),
      ],
    };
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#unwatch?.();
    await Promise.all(Array.from(this.#loops.values(), (loop) => loop.stop()));
    await this.#unsubscribe?.();
    await this.#projector.stop();
    await this.#options.traces?.end();
    await this.#dispatcher.stop();
    // Other coordinators take the ranges at once instead of after their time to live.
    await this.#options.ports.store.releaseRanges(this.#options.name).catch(() => {});
  }

  #loop(where: string, times: Pick<LoopOptions, 'periodMs' | 'firstMs'>, body: () => Promise<void>): Loop {
    const { clock } = this.#options.ports;
    const loop = startLoop(body, { ...times, clock, onError: (error) => this.#failed(where, error) });
    this.#loops.set(where, loop);
    return loop;
  }

  #report(where: string, error: unknown): void {
    try {
      this.#options.onError?.(where, error);
    } catch {
      // A failing listener must not end a loop.
    }
  }

  /** Rebuilds a lost store (its tables or database are gone) from the log, one rebuild at a time. */
  #failed(where: string, error: unknown): void {
    this.#report(where, error);
    if (!(error instanceof TidemarkError) || error.code !== 'store-missing' || this.#ensuring !== undefined) return;
    this.#ensuring = this.#rebuild()
      .catch((failure: unknown) => this.#report('rebuild', failure))
      .finally(() => {
        this.#ensuring = undefined;
      });
  }

  async #rebuild(): Promise<void> {
    this.#isStoreReady = false;
    await this.#options.ports.store.ensure();
    this.#projector.forgetAll();
    this.demand.forget();
    await this.#shareRanges();
    await this.#sweepLog();
  }

  async #shareRanges(): Promise<void> {
    const { store, clock } = this.#options.ports;
    const startedMs = clock.monotonicMs();
    const ranges = await store.shareRanges(this.#options.name, RANGE_TTL_MS);
    this.#sharedMs = startedMs;
    // Events that came while others owned the partitions gave no hint here.
    if (!this.#projector.own(ranges)) return;
    this.#newBuilds.forget();
    this.#retrying?.wake();
    await this.#sweepLog();
    await this.#hintUnreadable();
  }

  /** Hints partitions with streams at which another release stopped, because no new event need arrive there. */
  async #hintUnreadable(): Promise<void> {
    const query = { status: 'open', reason: UNREADABLE, limit: UNREADABLE_PAGE_COUNT } as const;
    for (let after: WorkflowSearch['after']; ; ) {
      const rows = await this.#options.ports.store.search({ ...query, after });
      this.#projector.hint(rows.map(({ partition }) => partition));
      after = rows.at(-1);
      if (rows.length < UNREADABLE_PAGE_COUNT) return;
    }
  }

  /**
   * Creates rows for all partitions that have none, but leaves those that appeared since the last sweep to whoever added them if all others
   * have rows. Hints each partition whose log is ahead of its rows.
   */
  async #sweepLog(): Promise<void> {
    const { log, store, telemetry, clock } = this.#options.ports;
    const atMs = clock.monotonicMs();
    const count = await log.partitionCount();
    let positions = await store.positions();
    const lacksNewOnes = positions.size >= this.#seenCount;
    this.#seenCount = count;
    if (positions.size < count && !lacksNewOnes) {
      await addPartitions(this.#options, count);
      positions = await store.positions();
    }
    this.#projector.reconcile(positions);
    const bounds = await log.bounds();
    let lag = 0;
    let eventCount = 0;
    for (const [partition, { end }] of bounds) {
      const next = positions.get(partition);
      if (next === undefined || next === end) continue;
      lag += end - next;
      if (this.#projector.owns(partition)) eventCount += end - next;
      this.#projector.hint([partition]);
    }
    this.#lag = { eventCount, atMs };
    telemetry.gauge('projection_lag_events', lag);
  }

  async #appendOpenings(): Promise<void> {
    const placements = await this.#options.ports.store.unappended(UNAPPENDED_AGE_MS, REDISPATCH_PAGE_COUNT);
    // One opening that can't be appended must not keep the others waiting.
    const append = (placement: Placement): Promise<void> =>
      this.#starter.append(placement).then(
        () => {},
        (error: unknown) => this.#report('openings', error),
      );
    await Promise.all(placements.map(append));
  }
}

/**
 * Whether the stream has or is a child. It searches for members of the state's JSON, which no text can imitate because quotes within texts
 * are escaped.
 */
const hasChildWork = (state: string): boolean => state.includes('"hasChildren":true') || state.includes('"parent":{');

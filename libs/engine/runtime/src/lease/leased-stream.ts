/**
 * Owns the holder's view of a stream that it has leased. It appends holder events, learns from offsets alone whether they were accepted,
 * and folds what other writers appended in between. It does not run user code or know what payloads mean.
 *
 * It keeps two states. `confirmed` is the fold of the log up to `next`. `speculative` is `confirmed` plus own events whose acceptance is
 * not known yet; new events build on it. After a rejection both are worthless: the holder is fenced, and every later write fails with the
 * same error.
 *
 * H1 Events go to the log in the order of their ordinals; an event is settled only by its verdict in the fold (I3).
 * H2 `next` never passes an offset whose record was not folded here.
 */

import { encodePayload, encodeRecord, entryOf } from '@tidemark/codec';
import {
  type Envelope,
  type Epoch,
  type EventEntry,
  eventId,
  FencedError,
  foldRecord,
  type HolderEventType,
  type HolderId,
  invariant,
  type Offset,
  type Ordinal,
  type Partition,
  type StreamState,
  TidemarkError,
  UnavailableError,
  uuidv7,
  type Verdict,
} from '@tidemark/core';
import type { LogRecord, StoredRecord } from '@tidemark/ports';
import {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  backoffMs,
  type LamportClock,
  leaseSpan,
  type Ports,
  traceParentOf,
} from '../kernel/index.ts';
import type { Draft } from './draft.ts';
import { appendable, type EventLimits, eventLimits, groupTogether } from './event-limits.ts';
import { fingerprinted } from './fingerprint.ts';
import { GAP_EMPTY_READS_MAX, TAIL_READ_MAX_BYTES } from './limits.ts';

interface Unsettled {
  readonly envelope: Envelope<HolderEventType>;
  /** The event as a reader of the log will decode it. */
  readonly entry: EventEntry;
  readonly record: LogRecord;
  /** True for the first event of each group, which goes into one append (event-limits.ts). */
  beginsGroup: boolean;
  /** The speculative state after this event. */
  after: StreamState;
  readonly settle: (error?: Error) => void;
}

export interface LeasedStreamOptions {
  readonly ports: Pick<Ports, 'log' | 'clock' | 'prng' | 'hints' | 'telemetry'>;
  readonly lamport: LamportClock;
  readonly partition: Partition;
  readonly holder: HolderId;
  /** Called for each accepted event of the stream that this holder didn't write in this epoch, in order. */
  readonly onForeign?: (entry: EventEntry) => void;
  /** Called for each of this holder's events, once the log has accepted it. Must return at once. */
  readonly onAccepted?: ((event: Envelope<HolderEventType>, payload: Uint8Array) => void) | undefined;
  /** Called once, when the lease turns out to be lost. */
  readonly onFenced?: (error: Error) => void;
}

export class LeasedStream {
  readonly #options: LeasedStreamOptions;
  readonly #limits: EventLimits;
  #confirmed: StreamState;
  #speculative: StreamState;
  #next: Offset;
  /** Own events whose verdict is not known yet, by ordinal. The last `#unsentCount` of them were not sent yet. */
  #unsettled: Unsettled[] = [];
  #unsentCount = 0;
  /**
   * Set when another writer's event was folded before own unsettled events, until all of these are settled. Meanwhile each own event is
   * judged by a fold of its own, since its `after` takes for granted that it is accepted.
   */
  #diverged = false;
  #settling: Promise<void> = Promise.resolve();
  #fenced: Error | undefined;
  #traced: { readonly epoch: Epoch; readonly parent: string } | undefined;
  #polledMs: number;

  constructor(state: StreamState, next: Offset, options: LeasedStreamOptions) {
    this.#options = options;
    this.#confirmed = state;
    this.#speculative = state;
    this.#next = next;
    this.#limits = eventLimits(options.ports.log);
    this.#polledMs = options.ports.clock.monotonicMs();
  }

  /** The fold of the log as far as this holder has read it. */
  get confirmed(): StreamState {
    return this.#confirmed;
  }

  /** `confirmed` plus own events whose acceptance is not known yet. */
  get speculative(): StreamState {
    return this.#speculative;
  }

  /** Checkpoints that this holder has made and that were not accepted yet, in order. */
  get pendingCheckpoints(): readonly Envelope<'CheckpointCommitted'>[] {
    return this.#unsettled.flatMap(({ entry: { envelope } }) =>
      envelope.type === 'CheckpointCommitted' ? [envelope] : [],
    );
  }

  /** The first offset that was not folded here. */
  get next(): Offset {
    return this.#next;
  }

  /**
   * Send time of this holder's latest answered append, or of its latest read that reached the end (monotonic milliseconds): everything
   * that others had written by then is folded. Before the first answer, it is the time at which this view was created.
   */
  get polledMs(): number {
    return this.#polledMs;
  }

  /** Whether this holder has the lease, as far as the log was read: it has neither released nor lost it. */
  get isHeld(): boolean {
    return this.#confirmed.lease?.holder === this.#options.holder;
  }

  get fenced(): Error | undefined {
    return this.#fenced;
  }

  /** The time to stamp on an event. It is never before the newest checkpoint's, even if the own clock is behind; such skew is counted. */
  #atMs(): number {
    const { clock, telemetry } = this.#options.ports;
    const now = clock.nowMs();
    const parent = this.#speculative.head.atMs;
    if (now >= parent) return now;
    telemetry.count('clock_skew_warnings_total', 1);
    return parent;
  }

  /**
   * Stages events as one group at the end of the stream: they go into one append, and leave with the next `flush`. The promise resolves
   * once all are accepted, and rejects with the error that fenced the holder. It rejects with `LimitError` when an event, or the group, is
   * too large; then nothing was staged.
   */
  stage(drafts: readonly Draft[]): Promise<void> {
    if (this.#fenced !== undefined) return Promise.reject(this.#fenced);
    const before = this.#speculative;
    const staged: Unsettled[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let openCount = drafts.length;
    // If one event of an append holds texts, all its events get the hint `packsWell` (see LogRecord).
    const packsWell = drafts.some(({ control }) => 'hasContext' in control && control.hasContext);
    const settle = (error?: Error): void => {
      if (error !== undefined) reject(error);
      else if (--openCount === 0) resolve();
    };
    try {
      for (const draft of fingerprinted(drafts, before, this.#options.ports.log.isSealing === true)) {
        staged.push(this.#stamp(draft, packsWell, settle));
      }
      // A crash between two appends would leave a checkpoint without the end that its step declared.
      if (staged.length > 1) groupTogether(staged, this.#limits, before.workflow);
    } catch (error) {
      this.#speculative = before;
      return Promise.reject(error);
    }
    this.#unsettled.push(...staged);
    this.#unsentCount += staged.length;
    return promise;
  }

  #stamp(draft: Draft, packsWell: boolean, settle: (error?: Error) => void): Unsettled {
    const { ports, lamport, holder } = this.#options;
    const state = this.#speculative;
    const claim = draft.type === 'LeaseClaimed';
    const atMs = this.#atMs();
    const envelope = {
      v: 1,
      id: eventId(uuidv7(atMs, ports.prng.bytes(10))),
      tenant: state.tenant,
      workflow: state.workflow,
      generation: state.generation,
      lamport: lamport.stamp(),
      epoch: claim ? state.epoch + 1 : state.epoch,
      holder,
      ordinal: claim ? 1 : (((state.lease?.ordinal ?? 0) + 1) as Ordinal),
      atMs,
      type: draft.type,
      control: draft.control,
    } as Envelope<HolderEventType>;
    const payload = encodePayload(draft.type, draft.payload as never);
    const value = encodeRecord({ envelope, payload }, this.#limits.maxBytes, this.#limits.headMaxBytes);
    const isSealed = ports.log.isSealing === true && draft.payload !== null;
    const entry: EventEntry = { kind: 'event', envelope, payload, ...(isSealed && { seal: 'sealed' }) };
    // Its offset is not known yet, and does not matter: only an unreadable record leaves its offset in the state.
    const { stream, verdict } = foldRecord(state, entry, this.#next);
    invariant(verdict.kind === 'accepted', `own ${draft.type} would be rejected`, { verdict, control: draft.control });
    this.#speculative = stream;
    const trace = this.#trace(envelope.epoch);
    const hints = { ...(trace !== undefined && { trace }), ...(packsWell && { packsWell }) };
    const { tenant, workflow, user = null } = state;
    const record: LogRecord = { value, type: draft.type, owner: { tenant, workflow, user }, ...hints };
    return { envelope, entry, record, beginsGroup: true, after: stream, settle };
  }

  /** `traceparent` of the current lease's span; undefined if traces are off. */
  get trace(): string | undefined {
    return this.#trace(this.#confirmed.epoch);
  }

  /** `traceparent` of the span of the lease under which an event is written, which travels as a header; undefined if traces are off. */
  #trace(epoch: Epoch): string | undefined {
    const { traceRatio } = this.#options.ports.telemetry;
    if (traceRatio === undefined) return undefined;
    if (this.#traced?.epoch !== epoch) {
      const { workflow } = this.#confirmed;
      this.#traced = { epoch, parent: traceParentOf(workflow, leaseSpan(workflow, epoch), traceRatio) };
    }
    return this.#traced.parent;
  }

  /** Sends all staged events. The promises of `stage` report their acceptance. */
  flush(): void {
    if (this.#unsentCount === 0 || this.#fenced !== undefined) return;
    const unsent = this.#unsettled.slice(-this.#unsentCount);
    this.#unsentCount = 0;
    for (const batch of appendable(unsent, this.#limits.appendMaxBytes)) this.#send(batch);
  }

  #send(batch: readonly Unsettled[]): void {
    const { log, hints, clock } = this.#options.ports;
    const sentMs = clock.monotonicMs();
    // Nobody waits for a claim by itself.
    const isClaim = batch.every(({ envelope }) => envelope.type === 'LeaseClaimed');
    const appended = log.append(
      this.#options.partition,
      batch.map((own) => own.record),
    );
    appended.then(
      () => hints.publish('appended', this.#options.partition, isClaim ? 'later' : undefined),
      () => {},
    );
    // Batches are settled one after the other, since verdicts follow from folding in offset order.
    this.#settling = this.#settling
      .then(async () => this.#settle(batch, await appended, sentMs))
      .catch((error: unknown) => this.#fence(error));
  }

  /** Folds the log through the batch, which stands at `base` and the offsets after it. */
  async #settle(batch: readonly Unsettled[], base: Offset, sentMs: number): Promise<void> {
    if (this.#fenced !== undefined) return;
    if (base > this.#next) await this.#foldGap(base);
    this.#polledMs = Math.max(this.#polledMs, sentMs);
    for (const [index, own] of batch.entries()) {
      const at = base + index;
      if (at < this.#next) continue;
      this.#foldAt(own.entry, false);
    }
    invariant(
      !batch.some((own) => this.#unsettled.includes(own)),
      'an append whose offset lies behind the fold was folded before',
      { base, next: this.#next },
    );
  }

  /** Folds the records in `[next, until)`, which others, or an ambiguous append of our own, put there. */
  async #foldGap(until: Offset): Promise<void> {
    const { clock } = this.#options.ports;
    for (let emptyCount = 0; this.#next < until && this.#fenced === undefined; ) {
      const before = this.#next;
      const [result] = await this.#options.ports.log.read([{ partition: this.#options.partition, from: this.#next }], {
        maxBytes: TAIL_READ_MAX_BYTES,
      });
      this.#foldRecords(result?.records ?? [], until);
      if (this.#next > before) continue;
      // The log acknowledged these records, so they are there; a replica that lags may not show them yet.
      if (++emptyCount === GAP_EMPTY_READS_MAX) {
        throw new UnavailableError(
          'log-gap',
          `Partition ${this.#options.partition} doesn't show what it acknowledged.`,
        );
      }
      await clock.sleep(backoffMs(emptyCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS));
    }
  }

  #foldRecords(records: readonly StoredRecord[], until: Offset): void {
    for (const record of records) {
      if (record.offset >= until || this.#fenced !== undefined) return;
      const entry = entryOf(record);
      if (entry.kind === 'event') this.#foldAt(entry, true);
      else if (entry.kind === 'unknown' && entry.workflow === this.#confirmed.workflow) {
        throw streamUnreadable(
          entry.workflow,
          entry.type,
          `of version ${entry.v}, which this process can't read; a newer one continues`,
        );
      } else this.#next = (this.#next + 1) as Offset;
    }
  }

  /**
   * Reads the log once, and folds what others have appended, without an append of our own. Never rejects: it reads nothing while the log is
   * unavailable, and a lost lease shows as `fenced`.
   */
  catchUp(): Promise<void> {
    this.#settling = this.#settling
      .then(async () => {
        if (this.#fenced !== undefined) return;
        const sentMs = this.#options.ports.clock.monotonicMs();
        const [result] = await this.#options.ports.log.read(
          [{ partition: this.#options.partition, from: this.#next }],
          {
            maxBytes: TAIL_READ_MAX_BYTES,
          },
        );
        if (result === undefined) return;
        this.#foldRecords(result.records, result.end);
        // A read that ended at its limit of bytes has not reached the end.
        if (this.#next >= result.end) this.#polledMs = Math.max(this.#polledMs, sentMs);
      })
      .catch((error: unknown) => {
        if (!(error instanceof UnavailableError)) this.#fence(error);
      });
    return this.#settling;
  }

  /** Folds the event at `next`. `isRead`: it was read from the log, and is not known merely because we appended it. */
  #foldAt(entry: EventEntry, isRead: boolean): void {
    const { envelope } = entry;
    const at = this.#next;
    this.#next = (this.#next + 1) as Offset;
    if (envelope.workflow !== this.#confirmed.workflow) return;
    this.#options.lamport.witness(envelope.lamport);
    const own = this.#unsettled[0]?.envelope.id === envelope.id ? this.#unsettled[0] : undefined;
    if (own !== undefined && !this.#diverged) {
      this.#confirmed = own.after;
      this.#accept(own);
      return;
    }
    const wasHeld = this.isHeld;
    const { stream, verdict } = foldRecord(this.#confirmed, entry, at);
    this.#confirmed = stream;
    const { problem } = stream.unreadable ?? {};
    if (problem !== undefined)
      throw streamUnreadable(stream.workflow, envelope.type, `that can't be read (${problem}); a person decides`);
    if (own !== undefined) this.#judge(own, verdict);
    else if (verdict.kind === 'accepted') {
      this.#rebase(isRead ? entry : undefined);
      // Own events that are under way will be rejected. Fencing now keeps further ones from building on a lease that is lost.
      if (envelope.type === 'LeaseRevoked' && wasHeld)
        this.#fence(leaseLost(stream, `it was revoked: ${envelope.control.reason}`));
      if (envelope.type === 'WorkflowTerminated' && wasHeld)
        this.#fence(leaseLost(stream, `${envelope.control.by} ended the workflow`, 'closed'));
      if (envelope.type === 'WorkflowReset' && wasHeld)
        this.#fence(leaseLost(stream, `${envelope.control.by} reset the workflow`, 'closed'));
    }
  }

  #judge(own: Unsettled, verdict: Verdict): void {
    if (verdict.kind === 'accepted') {
      this.#accept(own);
      return;
    }
    const reason = verdict.kind === 'rejected' ? verdict.reason : 'unreadable';
    this.#fence(leaseLost(own.envelope, `${own.envelope.type} was rejected (${reason})`, reason));
  }

  #accept(own: Unsettled): void {
    this.#unsettled.shift();
    if (this.#unsettled.length === 0) {
      this.#diverged = false;
      this.#speculative = this.#confirmed;
    }
    own.settle();
    this.#options.onAccepted?.(own.envelope, own.entry.payload);
  }

  /** Folds own unsettled events again, since they now follow another writer's event. Their verdicts are reported when each is reached. */
  #rebase(read: EventEntry | undefined): void {
    let state = this.#confirmed;
    for (const own of this.#unsettled) {
      // As in `#stamp`, the offset does not matter.
      state = foldRecord(state, own.entry, this.#next).stream;
      own.after = state;
    }
    this.#speculative = state;
    this.#diverged = this.#unsettled.length > 0;
    if (read !== undefined) this.#options.onForeign?.(read);
  }

  #fence(error: unknown): void {
    if (this.#fenced !== undefined) return;
    this.#fenced = error instanceof Error ? error : new TidemarkError('append-failed', String(error));
    for (const own of this.#unsettled) own.settle(this.#fenced);
    this.#unsettled = [];
    this.#unsentCount = 0;
    this.#options.onFenced?.(this.#fenced);
  }

  /** Resolves when everything that was flushed is settled. */
  async settled(): Promise<void> {
    await this.#settling;
  }
}

const streamUnreadable = (workflow: string, type: string, what: string): FencedError =>
  new FencedError('stream-unreadable', `Workflow ${workflow} holds a ${type} ${what}.`, { workflow });

const leaseLost = (
  { workflow, epoch }: Pick<StreamState, 'workflow' | 'epoch'>,
  why: string,
  reason = 'revoked',
): FencedError =>
  new FencedError(
    'lease-lost',
    `The lease of epoch ${epoch} on workflow ${workflow} is lost: ${why}. Another worker continues.`,
    { workflow, epoch, reason },
  );

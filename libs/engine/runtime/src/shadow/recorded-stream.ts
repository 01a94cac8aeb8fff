/**
 * Owns streams that a process writes without being a worker, and reads at any place of their past: the audit trail, claims, the shares of
 * roll-outs, threads of other frameworks. Each entry is a checkpoint, so the streams are projected, archived, sealed and shown like any
 * history, and no worker claims them. It does not know what is written.
 *
 * R1 A write is accepted only where nobody else wrote since this object read the stream: it then throws `FencedError`, and nothing of it
 *    counts. The object must be dropped after any failure.
 * R2 Entries of one write are accepted in their order, and together where one append has room for them.
 */

import { decodePayload, type Payloads } from '@tidemark/codec';
import {
  applyDelta,
  type Delta,
  type HolderId,
  holderId,
  invariant,
  isClosed,
  type Json,
  type Sequence,
  type TenantId,
  UnavailableError,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import type { Clock, WorkflowListing } from '@tidemark/ports';
import { definitionOfShadow, REPORT_STEP, type StepResult } from '../definition/index.ts';
import { Applied, ROWS_WAIT_MS, rowsCatchUp, whileRowsCatchUp, withContents } from '../history/index.ts';
import { Starter } from '../inbox/index.ts';
import { type LamportClock, type Ports, whileUnavailable } from '../kernel/index.ts';
import { ReportedStream } from './reported-stream.ts';

/** Checkpoints that a search for a whole belief reads first, and at most at once. */
const LOOK_BACK_FIRST_COUNT = 16;
const LOOK_BACK_MAX_COUNT = 256;
/** Entries that a stream keeps until rows surely have them. */
const RECENT_MAX_COUNT = 256;
/** Streams that one page of a listing reads. */
const ALL_PAGE_COUNT = 100;

export interface RecordedStreamsOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly partitionsMax?: number | undefined;
}

export interface RecordedStreamName {
  /** The name under which lists show it. Those of the system begin with `tidemark.`. */
  readonly definition: string;
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  /** Kept with the opening; null when absent. */
  readonly input?: Json | undefined;
  /** Its belief before the first entry; null when absent. */
  readonly belief?: Json | undefined;
  /** It is opened only while none of these ever was. */
  readonly unless?: readonly WorkflowId[];
  /** By which `all` finds it. */
  readonly tags?: readonly string[] | undefined;
}

export interface NewEntry {
  /** Names it: `entries` finds it by this. 1 to 512 characters. */
  readonly step: string;
  /** Describes it in words, in clear in rows and log. */
  readonly what: string;
  readonly output?: Json | undefined;
  /** Belief after it; absent: it stays. What is unchanged should be the same object, which costs nothing to compare. */
  readonly belief?: Json | undefined;
}

/** What is known of a stream without opening it. */
export interface RecordedStreamListing {
  readonly workflow: WorkflowId;
  readonly input: Json;
  readonly belief: Json;
  /** When its newest entry was written. */
  readonly atMs: number;
}

/** An entry as the stream has it. */
export interface StreamEntry {
  readonly sequence: Sequence;
  readonly step: string;
  readonly output: Json;
}

export interface PastEntry extends StreamEntry {
  /** Belief right after it. */
  readonly belief: Json;
}

interface Stored extends StreamEntry {
  readonly change: Pick<Payloads['CheckpointCommitted'], 'delta' | 'snapshot'>;
}

export class RecordedStreams {
  readonly #options: RecordedStreamsOptions;
  readonly #starter: Starter;
  readonly #holder: HolderId;

  constructor(options: RecordedStreamsOptions) {
    this.#options = options;
    const { ports, lamport, partitionsMax } = options;
    this.#starter = new Starter({ ports, lamport, partitionsMax });
    this.#holder = holderId(`writer-${uuidv7(ports.clock.nowMs(), ports.prng.bytes(10))}`);
  }

  get clock(): Clock {
    return this.#options.ports.clock;
  }

  /**
   * Opens a new stream, or the one that has this id. Waits while servers are unavailable or rows don't know it, until `signal` aborts (half
   * a minute when absent). Throws `ConflictError` (`workflow-differs`: the id is another definition's or tenant's; `workflow-claimed`: one of `unless` exists).
   */
  async open(name: RecordedStreamName, signal?: AbortSignal): Promise<RecordedStream> {
    const { ports } = this.#options;
    if (signal === undefined) return whileRowsCatchUp(ports, (within) => this.open(name, within));
    const { definition, workflow, tenant, input = null, belief = null, unless, tags } = name;
    const opening = definitionOfShadow({ name: definition, version: 1 }, [], false, { input, belief, next: [] });
    return whileUnavailable(ports.clock, signal, async () => {
      await this.#starter.start({ definition: opening, input, workflow, tenant, unless, tags, shadow: true });
      return (await this.#load(workflow)) ?? Promise.reject(rowsBehind(workflow));
    });
  }

  /** The stream of this id, by the log; undefined: there is none. Waits as `open` does, for half a minute at most. */
  async find(workflow: WorkflowId): Promise<RecordedStream | undefined> {
    const { ports } = this.#options;
    return whileRowsCatchUp(ports, (signal) =>
      whileUnavailable(ports.clock, signal, async () => {
        const found = await this.#load(workflow);
        if (found === undefined && (await ports.store.placed(workflow))?.appended) throw rowsBehind(workflow);
        return found;
      }),
    );
  }

  /** Every open stream of a definition, with all of these tags; the one that was opened last comes first. Waits until rows have all of them. */
  async *all(definition: string, tenant: TenantId, tags?: readonly string[]): AsyncGenerator<RecordedStreamListing> {
    const { ports } = this.#options;
    await rowsCatchUp(ports, ROWS_WAIT_MS);
    for (let after: WorkflowListing | undefined; ; ) {
      const page = await ports.store.search({ definition, tenant, tags, after, limit: ALL_PAGE_COUNT });
      const open = page.filter(({ closedInGeneration }) => closedInGeneration === null);
      for (const { row, content } of await withContents(ports.store, open)) {
        yield { workflow: row.workflow, input: content.input, belief: content.belief, atMs: row.updatedAtMs };
      }
      after = page.at(-1);
      if (page.length < ALL_PAGE_COUNT) return;
    }
  }

  async #load(workflow: WorkflowId): Promise<RecordedStream | undefined> {
    const { ports, lamport } = this.#options;
    const foreign: Stored[] = [];
    const stream = await ReportedStream.load(workflow, {
      ports,
      lamport,
      holder: this.#holder,
      onForeign: ({ envelope, payload }) => {
        if (envelope.type !== 'CheckpointCommitted') return;
        foreign.push(storedOf(envelope.control, decodePayload(envelope.type, payload)));
      },
    });
    return stream && new RecordedStream(ports, stream, foreign);
  }
}

export class RecordedStream {
  readonly #ports: Ports;
  readonly #stream: ReportedStream;
  /** The newest entries, which rows may not have yet; oldest first. */
  readonly #recent: Stored[];

  constructor(ports: Ports, stream: ReportedStream, recent: Stored[]) {
    this.#ports = ports;
    this.#stream = stream;
    this.#recent = recent;
  }

  get isClosed(): boolean {
    return isClosed(this.#stream.state);
  }

  get workflow(): WorkflowId {
    return this.#stream.state.workflow;
  }

  get tenant(): TenantId {
    return this.#stream.state.tenant;
  }

  get definition(): string {
    return this.#stream.state.definition;
  }

  /** Of its newest entry; 0: none. */
  get sequence(): Sequence {
    return this.#stream.state.head.sequence;
  }

  get belief(): Json {
    return this.#stream.content.belief;
  }

  /**
   * Resolves once the log has accepted the entries (R2), of which each is written whole. Throws `FencedError` (R1), `LimitError` (too large together),
   * `UnavailableError` (`stream-leased`: another process died while it wrote).
   */
  async write(entries: readonly NewEntry[]): Promise<void> {
    await this.#stream.write(async (add) => {
      for (const { step, what, output, belief } of entries) {
        const next = [{ step: REPORT_STEP, input: null }];
        const after = belief === undefined ? {} : { belief: () => belief };
        const drafts = this.#draftsOf(step, { output, next, lastAction: what, ...after });
        await add(drafts);
        for (const { type, control, payload } of drafts) {
          if (type === 'CheckpointCommitted') this.#remember(storedOf(control, payload));
        }
      }
    });
  }

  /** Ends the stream. Harmless when repeated. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    await this.#stream.write((add) => add(this.#draftsOf('closed', { done: null, lastAction: 'closed' })));
  }

  #draftsOf(step: string, result: StepResult): ReturnType<ReportedStream['draftsOf']> {
    const definition = definitionOfShadow({ name: this.definition, version: 1 }, [step], false);
    return this.#stream.draftsOf(definition, step, result);
  }

  #remember(stored: Stored): void {
    this.#recent.push(stored);
    if (this.#recent.length > RECENT_MAX_COUNT) this.#recent.shift();
  }

  /** Belief right after an entry; 0: before the first. Costs as much as the changes since the last whole belief. */
  async beliefAt(sequence: Sequence): Promise<Json> {
    if (sequence === this.sequence) return this.belief;
    const changes: Stored[] = [];
    for (let [to, count] = [sequence as number, LOOK_BACK_FIRST_COUNT]; to > 0; ) {
      const from = Math.max(1, to - count + 1) as Sequence;
      const page = await this.#page(from, to as Sequence);
      const whole = page.findLastIndex(({ change }) => change.snapshot !== undefined);
      changes.unshift(...page.slice(Math.max(0, whole)));
      if (changes[0]?.change.snapshot !== undefined) break;
      to = from - 1;
      count = Math.min(count * 2, LOOK_BACK_MAX_COUNT);
    }
    const before = changes[0]?.change.snapshot === undefined ? await this.#firstBelief() : null;
    return changes.reduce(beliefAfter, before);
  }

  async #firstBelief(): Promise<Json> {
    const [opening] = await this.#rows({ from: 0 as Sequence, limit: 1 });
    invariant(opening?.sequence === 0, 'a stream has an opening', { workflow: this.#stream.state.workflow });
    return decodePayload('WorkflowOpened', opening.payload).belief;
  }

  /** The entries from one sequence to another, both included, in order. Costs as much as `beliefAt` of the first and their content. */
  async entries(from: Sequence, to: Sequence): Promise<readonly PastEntry[]> {
    let belief = await this.beliefAt((from - 1) as Sequence);
    return (await this.#page(from, to)).map((stored) => {
      const { change: _, ...entry } = stored;
      belief = beliefAfter(belief, stored);
      return { ...entry, belief };
    });
  }

  /** The same without belief. Costs as much as their content. */
  outputs(from: Sequence, to: Sequence): Promise<readonly StreamEntry[]> {
    return this.#page(from, to);
  }

  /** All entries of this name from a sequence on, in order. Reads no content of others. */
  async named(step: string, from: Sequence = 1 as Sequence): Promise<readonly StreamEntry[]> {
    const recent = this.#recent.filter((entry) => entry.sequence >= from && entry.step === step);
    const until = this.#recent[0]?.sequence ?? this.sequence + 1;
    if (until <= from) return recent;
    const rows = await this.#rows({ from, limit: until - from, step });
    return [...rows.map(storedIn).filter(({ sequence }) => sequence < until), ...recent];
  }

  async #page(from: Sequence, to: Sequence): Promise<readonly Stored[]> {
    const recent = this.#recent.filter(({ sequence }) => sequence >= from && sequence <= to);
    const until = recent[0]?.sequence ?? to + 1;
    if (until <= from) return recent;
    const rows = await this.#rows({ from, limit: until - from });
    return [...rows.map(storedIn), ...recent];
  }

  async #rows(query: { readonly from: Sequence; readonly limit: number; readonly step?: string }) {
    if (this.#recent.length >= RECENT_MAX_COUNT) await this.inRows();
    return this.#ports.store.checkpoints(this.#stream.state.workflow, query);
  }

  /** Resolves once rows have all that this object has read or written. Throws `UnavailableError` (`rows-behind`) after half a minute. */
  async inRows(): Promise<void> {
    const { partition, next } = this.#stream;
    const applied = new Applied(this.#ports);
    try {
      await whileRowsCatchUp(this.#ports, (signal) => applied.wait(partition, next, signal));
    } finally {
      await applied.close();
    }
  }
}

const storedOf = (
  { sequence, step }: { readonly sequence: Sequence; readonly step: string },
  { output, delta, snapshot }: Payloads['CheckpointCommitted'],
): Stored => ({
  sequence,
  step,
  output,
  change: { ...(delta && { delta }), ...(snapshot !== undefined && { snapshot }) },
});

const storedIn = (row: {
  readonly sequence: Sequence;
  readonly step: string | null;
  readonly payload: string;
}): Stored =>
  storedOf({ sequence: row.sequence, step: row.step ?? '' }, decodePayload('CheckpointCommitted', row.payload));

function beliefAfter(before: Json, { change: { delta, snapshot } }: Stored): Json {
  if (snapshot !== undefined) return snapshot;
  return delta === undefined ? before : applyDelta(before, delta as Delta);
}

const rowsBehind = (workflow: WorkflowId): UnavailableError =>
  new UnavailableError('rows-behind', `The rows don't know the stream ${workflow} yet.`);

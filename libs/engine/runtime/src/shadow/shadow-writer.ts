/**
 * Owns the record of one observed run: it opens the run, continues from the log where it or another process left it, and writes each step
 * once. It decides neither whether the run is observed nor how often a write is retried.
 */

import { decodePayload } from '@tidemark/codec';
import {
  ConflictError,
  checkpointId,
  eventId,
  type HolderId,
  InvalidError,
  isClosed,
  LimitError,
  type Sequence,
  type TenantId,
  UnavailableError,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import { definitionOfShadow, firstSteps, type ShadowDefinition, type ShadowOpening } from '../definition/index.ts';
import type { Starter } from '../inbox/index.ts';
import { digestOf, type LamportClock, type Ports } from '../kernel/index.ts';
import { Inbox } from '../lease/index.ts';
import { type Add, ReportedStream } from './reported-stream.ts';
import { type Observation, observationIn, REPORTED_OTHERWISE } from './shadow-observed.ts';
import { draftsOfReport, misfitOf, type Report } from './shadow-report.ts';

/** Keys of reports that a run remembers, so that it writes each step once. */
const SHADOW_KEYS_MAX = 256;

/** Code of the error for a run that is opened but not in rows yet, which is no fault. */
export const ROWS_BEHIND = 'rows-behind';

export interface ShadowWriterOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly starter: Starter;
  readonly holder: HolderId;
  readonly definition: ShadowDefinition;
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly opening: ShadowOpening;
}

/** A waiting report: its JSON, and how many reports were lost before it. */
export interface Waiting {
  readonly text: string;
  readonly lostCount: number;
}

/** The outcome of a report: `repeated`: the log already had it; `refused`: it can't be recorded, with the reason. */
export type Fate = { readonly kind: 'written' | 'repeated' } | { readonly kind: 'refused'; readonly error: unknown };

export class ShadowWriter {
  readonly #options: ShadowWriterOptions;
  readonly #inbox: Inbox;
  #stream: ReportedStream | undefined;
  /** Digests of the reports in the log, by key; oldest first. */
  #written = new Map<string, string>();
  /** Keys whose contradiction this object has recorded. */
  #contradicted = new Set<string>();
  /** The misfit of the opening, until a report has recorded it. */
  #misfit: Observation['misfit'] = null;
  #isOpened = false;
  /** Reports lost since the last written one. */
  #lostCount = 0;

  constructor(options: ShadowWriterOptions) {
    this.#options = options;
    this.#inbox = new Inbox(options.ports, options.lamport);
  }

  /**
   * Writes the reports in order; resolves, once the log has them, to the outcome of each. After a failure no outcome is known, and writing
   * them again is harmless. Throws `ConflictError` (`not-a-shadow`) when the id belongs to another kind of workflow.
   */
  async write(reports: readonly Waiting[]): Promise<readonly Fate[]> {
    try {
      await this.#open();
      return await this.#write(reports);
    } catch (error) {
      this.#stream = undefined;
      throw error;
    }
  }

  async #open(): Promise<void> {
    if (this.#stream !== undefined) return;
    if (!this.#isOpened) await this.#start();
    this.#isOpened = true;
    this.#stream = await this.#load();
  }

  /** Opens the workflow unless it exists. The first report records an input or a beginning that doesn't fit the definition. */
  async #start(): Promise<void> {
    const { starter, definition, opening, workflow, tenant } = this.#options;
    const start = async (isStrict: boolean): Promise<void> => {
      const named = isStrict ? firstSteps(definition, opening) : (opening.next ?? []).map(({ step }) => step);
      // If the definition can't begin with it, the run begins with nothing.
      const from = isStrict ? definition : { name: definition.name, version: definition.version };
      const made = definitionOfShadow(from, named, isStrict, opening);
      await starter.start({ definition: made, input: opening.input, workflow, tenant, shadow: true });
    };
    try {
      await start(true);
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error;
      await start(false);
      this.#misfit = misfitOf(error);
    }
  }

  async #load(): Promise<ReportedStream> {
    const { ports, lamport, holder, workflow } = this.#options;
    this.#written = new Map();
    this.#contradicted = new Set();
    const foreign: { key: string; report: string }[] = [];
    const stream = await ReportedStream.load(workflow, {
      ports,
      lamport,
      holder,
      onForeign: ({ envelope, payload }) => {
        if (envelope.type !== 'CheckpointCommitted') return;
        const seen = observationIn(decodePayload(envelope.type, payload).log);
        if (seen !== undefined) foreign.push(seen);
      },
    });
    if (stream === undefined) {
      throw new UnavailableError(ROWS_BEHIND, `The rows don't know workflow ${workflow} yet.`);
    }
    if (!stream.state.shadow) {
      throw new ConflictError(
        'not-a-shadow',
        `Workflow ${workflow} is run by workers: it can't be reported from outside.`,
      );
    }
    const from = Math.max(1, stream.state.head.sequence - SHADOW_KEYS_MAX + 1) as Sequence;
    for (const row of await ports.store.checkpoints(workflow, { from, limit: SHADOW_KEYS_MAX })) {
      const seen = observationIn(decodePayload('CheckpointCommitted', row.payload).log);
      if (seen !== undefined) this.#remember(seen.key, seen.report);
    }
    for (const { key, report } of foreign) this.#remember(key, report);
    return stream;
  }

  #remember(key: string, report: string): void {
    this.#written.delete(key);
    this.#written.set(key, report);
    if (this.#written.size <= SHADOW_KEYS_MAX) return;
    for (const oldest of this.#written.keys()) {
      this.#written.delete(oldest);
      return;
    }
  }

  async #write(reports: readonly Waiting[]): Promise<readonly Fate[]> {
    const stream = this.#stream!;
    const fates: Fate[] = [];
    let lostCount = this.#lostCount;
    const each = async (add?: Add): Promise<void> => {
      for (const waiting of reports) {
        lostCount += waiting.lostCount;
        const isKnown = add === undefined || this.#isWritten(waiting) || isClosed(stream.state);
        const fate = isKnown ? await this.#known(waiting) : await this.#add(waiting, lostCount, add);
        fates.push(fate);
        if (fate.kind === 'written') lostCount = 0;
        if (fate.kind === 'refused') lostCount++;
      }
    };
    if (isClosed(stream.state) || reports.every((waiting) => this.#isWritten(waiting))) await each();
    else await stream.write(each);
    this.#lostCount = lostCount;
    if (fates.some(({ kind }) => kind === 'written')) this.#misfit = null;
    return fates;
  }

  #isWritten({ text }: Waiting): boolean {
    return this.#written.has((JSON.parse(text) as Report).key);
  }

  async #add(waiting: Waiting, lostCount: number, add: Add): Promise<Fate> {
    const { ports, definition } = this.#options;
    const { state, content } = this.#stream!;
    const report = JSON.parse(waiting.text) as Report;
    const reportDigest = this.#digestOf(waiting);
    const { clock, prng, digest } = ports;
    try {
      await add(
        draftsOfReport({
          shadow: definition,
          report,
          reportDigest,
          lostCount,
          misfit: this.#misfit,
          state,
          content,
          checkpoint: checkpointId(uuidv7(clock.nowMs(), prng.bytes(10))),
          atMs: clock.nowMs(),
          digest,
        }),
      );
    } catch (error) {
      if (!(error instanceof LimitError) && !(error instanceof InvalidError)) throw error;
      return { kind: 'refused', error };
    }
    this.#remember(report.key, reportDigest);
    return { kind: 'written' };
  }

  /** A repeated report: harmless when it says the same, and recorded for the comparison when it doesn't. */
  async #known(waiting: Waiting): Promise<Fate> {
    const { key } = JSON.parse(waiting.text) as Report;
    const before = this.#written.get(key);
    const { state } = this.#stream!;
    if (before === undefined) {
      const error = new InvalidError('shadow-ended', `Workflow ${state.workflow} has ended.`, { key });
      return { kind: 'refused', error };
    }
    if (before !== this.#digestOf(waiting) && !isClosed(state)) await this.#contradict(key);
    return { kind: 'repeated' };
  }

  /** Once for each key, because nothing consumes these signals and the stream's state keeps them. */
  async #contradict(key: string): Promise<void> {
    const { state, partition } = this.#stream!;
    const id = eventId(`${REPORTED_OTHERWISE}:${key}`);
    if (this.#contradicted.has(key) || state.signals.some(({ event }) => event === id)) return;
    const { workflow, generation, tenant } = state;
    const target = { workflow, generation, tenant, partition };
    await this.#inbox.write(target, id, 'SignalReceived', { name: REPORTED_OTHERWISE }, { value: { key } });
    this.#contradicted.add(key);
  }

  #digestOf({ text }: Waiting): string {
    return digestOf(this.#options.ports.digest, JSON.parse(text));
  }
}

/**
 * Owns the state of shadow roll-outs: the observed share of each definition's workflows, since when and by whom. It must last and be the
 * same for all processes, so it is a stream: `~shadow/{definition}`, itself a shadow workflow, whose belief is the state and whose
 * checkpoints are the history. Of two concurrent changes, the log accepts one.
 */

import {
  ConflictError,
  DEFAULT_TENANT,
  FencedError,
  type HolderId,
  InvalidError,
  type Json,
  rolloutId,
  type Sequence,
  streamFromJson,
  UnavailableError,
} from '@tidemark/core';
import { definitionOfShadow } from '../definition/index.ts';
import { Applied, StreamContent } from '../history/index.ts';
import type { Starter } from '../inbox/index.ts';
import { type LamportClock, type Ports, whileUnavailable } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';
import { ReportedStream } from './reported-stream.ts';
import type { ShadowShare } from './shadow-share.ts';

/** How long a comparison waits for rows to have everything in the log, in milliseconds. */
const SHADOW_ROWS_WAIT_MS = 30_000;

/** Definition of the streams of roll-outs; no worker runs it. */
export const ROLLOUT_DEFINITION = 'tidemark.shadow';
const SHARE_STEP = 'share';

export interface ShadowRollout {
  readonly share: ShadowShare;
  /** What of it Tidemark runs itself. */
  readonly active: ShadowShare;
  /** When the shares were set: a promotion compares the runs that were opened since. */
  readonly sinceMs: number;
  readonly by: string;
  /** The observation that was required before it, in milliseconds, and the number of workflows; null where none was. */
  readonly observeMs: number | null;
  readonly workflowsMin: number | null;
}

export interface RolloutsOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly starter: Starter;
  readonly holder: HolderId;
}

/** A state of a roll-out, on which a change is based. */
export interface ReadRollout {
  readonly state: ShadowRollout | undefined;
  /** Number of earlier changes; 0: none. */
  readonly sequence: Sequence;
}

export class Rollouts {
  readonly #options: RolloutsOptions;

  constructor(options: RolloutsOptions) {
    this.#options = options;
  }

  /** The state by rows, slightly behind the log, which is enough for observers. */
  async read(definition: string): Promise<ShadowRollout | undefined> {
    const [snapshot] = await this.#options.ports.store.loadStreams([rolloutId(definition)]);
    if (snapshot === undefined) return undefined;
    return stateIn(StreamContent.from(snapshot, streamFromJson(snapshot.state, snapshot.tasks)).belief);
  }

  /** The state by the log. */
  async readExactly(definition: string): Promise<ReadRollout> {
    const stream = await this.#load(definition);
    if (stream === undefined) return { state: undefined, sequence: 0 as Sequence };
    return { state: stateIn(stream.content.belief), sequence: stream.state.head.sequence };
  }

  /**
   * Resolves once rows have the change, so that every later reader sees it. Throws `ConflictError` (`rollout-changed`) when the state
   * differs from `before`.
   */
  async change(definition: string, before: ReadRollout, after: ShadowRollout): Promise<void> {
    if (before.state === undefined) await this.#open(definition);
    const stream = await this.#loadOpened(definition);
    if (stream.state.head.sequence !== before.sequence) throw changed(definition);
    try {
      await stream.write((add) => add(draftsOf(definition, stream, after)));
    } catch (error) {
      if (error instanceof FencedError) throw changed(definition, error);
      throw error;
    }
    await this.#seen(stream);
  }

  async #seen({ partition, next }: ReportedStream): Promise<void> {
    const { ports } = this.#options;
    const applied = new Applied(ports);
    // The change is in the log; late rows show it later.
    await whileRowsCatchUp(ports, (signal) => applied.wait(partition, next, signal)).catch(() => {});
    await applied.close();
  }

  #load(definition: string): Promise<ReportedStream | undefined> {
    const { ports, lamport, holder } = this.#options;
    return ReportedStream.load(rolloutId(definition), { ports, lamport, holder });
  }

  async #loadOpened(definition: string): Promise<ReportedStream> {
    const { ports } = this.#options;
    return whileRowsCatchUp(ports, (signal) =>
      whileUnavailable(ports.clock, signal, async () => {
        const stream = await this.#load(definition);
        if (stream !== undefined) return stream;
        throw new UnavailableError('rows-behind', `The rows don't know the roll-out of ${definition} yet.`);
      }),
    );
  }

  async #open(definition: string): Promise<void> {
    await this.#options.starter.start({
      definition: rolloutDefinition(definition),
      input: { definition },
      workflow: rolloutId(definition),
      tenant: DEFAULT_TENANT,
      shadow: true,
    });
  }
}

/** Gives the work as long as rows may take: then its signal aborts with `UnavailableError` (`rows-behind`). */
export async function whileRowsCatchUp<T>(
  { clock }: Pick<Ports, 'clock'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const done = new AbortController();
  void clock.sleep(SHADOW_ROWS_WAIT_MS, done.signal).then(() => {
    late.abort(new UnavailableError('rows-behind', 'The rows did not catch up with the log in time; try again.'));
  });
  try {
    return await work(late.signal);
  } finally {
    done.abort();
  }
}

function draftsOf(definition: string, stream: ReportedStream, after: ShadowRollout): readonly Draft[] {
  const drafts = stream.draftsOf(rolloutDefinition(definition), SHARE_STEP, {
    belief: () => after,
    next: [{ step: SHARE_STEP, input: null }],
    lastAction: `${after.share} %${after.active === 0 ? '' : `, of which Tidemark runs ${after.active} %,`} by ${after.by}`,
  });
  if (drafts !== undefined) return drafts;
  throw new InvalidError('not-a-rollout', `Workflow ${rolloutId(definition)} was not opened as a roll-out.`);
}

const rolloutDefinition = (definition: string): ReturnType<typeof definitionOfShadow> =>
  definitionOfShadow({ name: ROLLOUT_DEFINITION, version: 1 }, [SHARE_STEP], false, {
    input: { definition },
    belief: null,
    next: [{ step: SHARE_STEP }],
  });

const stateIn = (belief: Json): ShadowRollout | undefined =>
  belief === null ? undefined : (belief as unknown as ShadowRollout);

const changed = (definition: string, cause?: unknown): ConflictError =>
  new ConflictError(
    'rollout-changed',
    `The roll-out of ${definition} was changed by someone else meanwhile. Read it again.`,
    { definition, cause },
  );

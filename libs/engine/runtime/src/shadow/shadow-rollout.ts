/**
 * Owns the state of shadow roll-outs: the observed share of each definition's workflows, since when and by whom. It must last and be the
 * same for all processes, so it is a stream: `~shadow/{definition}`, itself a shadow workflow, whose belief is the state and whose
 * checkpoints are the history. Of two concurrent changes, the log accepts one.
 */

import {
  ConflictError,
  DEFAULT_TENANT,
  FencedError,
  type Json,
  rolloutId,
  type Sequence,
  streamFromJson,
} from '@tidemark/core';
import { StreamContent } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { RecordedStreams } from './recorded-stream.ts';
import type { ShadowShare } from './shadow-share.ts';

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

/** A state of a roll-out, on which a change is based. */
export interface ReadRollout {
  readonly state: ShadowRollout | undefined;
  /** Number of earlier changes; 0: none. */
  readonly sequence: Sequence;
}

export class Rollouts {
  readonly #store: Ports['store'];
  readonly #streams: RecordedStreams;

  constructor({ store }: Pick<Ports, 'store'>, streams: RecordedStreams) {
    this.#store = store;
    this.#streams = streams;
  }

  /** The state by rows, slightly behind the log, which is enough for observers. */
  async read(definition: string): Promise<ShadowRollout | undefined> {
    const [snapshot] = await this.#store.loadStreams([rolloutId(definition)]);
    if (snapshot === undefined) return undefined;
    return stateIn(StreamContent.from(snapshot, streamFromJson(snapshot.state, snapshot.tasks)).belief);
  }

  /** The state by the log. */
  async readExactly(definition: string): Promise<ReadRollout> {
    const stream = await this.#streams.find(rolloutId(definition));
    return { state: stateIn(stream?.belief ?? null), sequence: stream?.sequence ?? (0 as Sequence) };
  }

  /**
   * Resolves once rows have the change, so that every later reader sees it. Throws `ConflictError` (`rollout-changed`) when the state
   * differs from `before`.
   */
  async change(definition: string, before: ReadRollout, after: ShadowRollout): Promise<void> {
    const { share, active, by } = after;
    const what = `${share} %${active === 0 ? '' : `, of which Tidemark runs ${active} %,`} by ${by}`;
    const name = { definition: ROLLOUT_DEFINITION, workflow: rolloutId(definition), tenant: DEFAULT_TENANT };
    const known = before.state === undefined ? undefined : await this.#streams.find(name.workflow);
    const stream = known ?? (await this.#streams.open({ ...name, input: { definition } }));
    if (stream.sequence !== before.sequence) throw changed(definition);
    try {
      await stream.write([{ step: SHARE_STEP, what, belief: after as unknown as Json }]);
    } catch (error) {
      if (error instanceof FencedError) throw changed(definition, error);
      throw error;
    }
    // The change is in the log; late rows show it later.
    await stream.inRows().catch(() => {});
  }
}

const stateIn = (belief: Json): ShadowRollout | undefined =>
  belief === null ? undefined : (belief as unknown as ShadowRollout);

const changed = (definition: string, cause?: unknown): ConflictError =>
  new ConflictError(
    'rollout-changed',
    `The roll-out of ${definition} was changed by someone else meanwhile. Read it again.`,
    { definition, cause },
  );

/**
 * Owns what a run of a graph keeps: the newest checkpoint of each namespace with the writes of its tasks, as the belief of a workflow, and
 * the framework's checkpointer over it while one step runs. It records nothing itself: the step returns what has changed.
 *
 * G1 What a superstep didn't change is the same object as before, so that the belief's delta has only what it changed.
 * G2 Namespaces of subgraphs end with the superstep that ran them, except those that the framework keeps for the thread.
 */

import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  ERROR,
  getCheckpointId,
  INTERRUPT,
  type PendingWrite,
  RESUME,
} from '@langchain/langgraph-checkpoint';
import { InvalidError, type Json } from '@tidemark/core';
import { type KeptCheckpoint, own, type WritesEntry } from './kept.ts';
import { Values } from './values.ts';

/** Of one namespace. */
interface Head extends Pick<KeptCheckpoint, 'id' | 'parent' | 'checkpoint' | 'metadata' | 'values'> {
  readonly writes: readonly WritesEntry[];
  /** The superstep that is the last one under the recursion limit. */
  readonly stop: number;
}

export type GraphHeads = { readonly [namespace: string]: Head };

/** What a run of a graph knows besides. */
export interface GraphKept<Call> {
  readonly heads: GraphHeads;
  /** Tasks of a superstep of several that are not done. */
  readonly open: readonly string[];
  /** What nodes that have stopped have called, by task. */
  readonly calls: { readonly [task: string]: readonly Call[] };
}

/** What a channel of the framework's own is called, and what views leave out. */
const HIDDEN = /^(?:~|__|branch:)/;
const KEPT = '~graph';

/** Belief: the graph's values by name as far as they are JSON, for people, and the rest beside them. */
export function beliefOf<Call>(kept: GraphKept<Call>): Json {
  const root = kept.heads[''];
  if (root === undefined) return {};
  const shown: Record<string, Json> = {};
  const values = Object.entries(root.values).map(([channel, { version, value }]) => {
    if (HIDDEN.test(channel) || !('json' in value)) return [channel, { version, value }];
    shown[channel] = value.json;
    return [channel, { version }];
  });
  const heads = { ...kept.heads, '': { ...root, values: Object.fromEntries(values) } };
  return { ...shown, [KEPT]: { ...kept, heads } } as unknown as Json;
}

/** Whether a graph can go on from it: values without the rest would begin it anew. */
export const isWhole = (belief: unknown): boolean =>
  typeof belief === 'object' && belief !== null && (KEPT in belief || Object.keys(belief).length === 0);

export function keptIn<Call>(belief: Json): GraphKept<Call> {
  const { [KEPT]: kept, ...shown } = belief as unknown as Readonly<Record<string, Json>>;
  if (kept === undefined) return { heads: {}, open: [], calls: {} };
  const { heads, ...rest } = kept as unknown as GraphKept<Call>;
  const root = heads['']!;
  const values = Object.entries(root.values).map(([channel, { version, value }]) => [
    ...[channel, { version, value: value ?? { json: own(shown, channel) ?? null } }],
  ]);
  return { ...rest, heads: { ...heads, '': { ...root, values: Object.fromEntries(values) } } };
}

/** A question, as the framework has it. */
export interface Asked {
  readonly id: string;
  readonly value?: unknown;
}

/** Channels of a task that say something else than that it is done. One that failed and has an error handler has written more. */
const NOT_DONE: readonly string[] = [ERROR, INTERRUPT, RESUME];

/** Throws `InvalidError` (`graph-unfit`). */
function refuseDelta(namespace: string, metadata: CheckpointMetadata): void {
  if (!('counters_since_delta_snapshot' in metadata)) return;
  const where = namespace === '' ? '' : ` (${namespace})`;
  throw new InvalidError(
    'graph-unfit',
    `The graph${where} has a DeltaChannel, whose value is spread over old checkpoints, and a durable graph keeps the newest one. Use an ordinary channel: what is recorded of it is what changed.`,
    { namespace },
  );
}

export class GraphState extends BaseCheckpointSaver {
  readonly #before: GraphHeads;
  readonly #heads: Map<string, Omit<Head, 'writes'>>;
  /** By namespace and checkpoint: the framework may save writes before the checkpoint that they belong to. */
  readonly #writes = new Map<string, WritesEntry[]>();
  readonly #values = new Values(this.serde);
  readonly #limit: number;
  /** Whether anything was put. */
  hasMoved = false;

  readonly #only: string | undefined;

  /** `limit`: the recursion limit. `only`: the task of the root that runs; what others of its superstep wrote is not applied. */
  constructor(heads: GraphHeads, limit: number, only?: string) {
    super();
    this.#only = only;
    this.#before = heads;
    this.#limit = limit;
    this.#heads = new Map(Object.entries(heads));
    for (const [namespace, { id, writes }] of this.#heads as Map<string, Head>) {
      this.#writes.set(keyOf(namespace, id), [...writes]);
    }
  }

  /** The root's newest checkpoint; undefined: the graph has not begun. */
  get root(): string | undefined {
    return this.#heads.get('')?.id;
  }

  override async getTuple({ configurable = {} }: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id, checkpoint_ns: namespace = '' } = configurable;
    const head = this.#heads.get(namespace);
    const wanted = getCheckpointId({ configurable });
    if (head === undefined || (wanted !== '' && wanted !== head.id)) return undefined;
    const placeOf = (checkpoint_id: string): RunnableConfig => ({
      configurable: { thread_id, checkpoint_ns: namespace, checkpoint_id },
    });
    return {
      config: placeOf(head.id),
      ...(await this.#values.loadCheckpoint(head)),
      ...(head.parent !== null && { parentConfig: placeOf(head.parent) }),
      pendingWrites: await this.#values.loadWrites(this.#writes.get(keyOf(namespace, head.id)) ?? []),
    };
  }

  /** The newest checkpoint of each namespace: older ones are not kept here. */
  override async *list({ configurable = {} }: RunnableConfig, { before }: CheckpointListOptions = {}) {
    const { checkpoint_ns } = configurable;
    for (const namespace of checkpoint_ns === undefined ? [...this.#heads.keys()] : [checkpoint_ns]) {
      const tuple = await this.getTuple({ configurable: { ...configurable, checkpoint_ns: namespace } });
      const upTo: string | undefined = before?.configurable?.checkpoint_id;
      if (tuple !== undefined && (upTo === undefined || tuple.checkpoint.id < upTo)) yield tuple;
    }
  }

  override async put(
    { configurable = {} }: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns: namespace = '', checkpoint_id: parent = null } = configurable;
    const place = { configurable: { thread_id, checkpoint_ns: namespace, checkpoint_id: checkpoint.id } };
    if (namespace === '' && this.#only !== undefined) return place;
    refuseDelta(namespace, metadata);
    this.hasMoved = true;
    const { channel_values: channels, ...rest } = checkpoint;
    const known = this.#heads.get(namespace);
    const values = Object.keys(channels).map(async (channel) => {
      // A channel that nobody has written has none.
      const version = rest.channel_versions[channel] ?? 0;
      const before = own(known?.values ?? {}, channel);
      if (before !== undefined && before.version === version) return [channel, before] as const;
      return [channel, { version, value: await this.#values.dump(`channel ${channel}`, channels[channel]) }] as const;
    });
    this.#heads.set(namespace, {
      ...{ id: checkpoint.id, parent, stop: known?.stop ?? this.#limit },
      checkpoint: await this.#values.dumpJson('checkpoint', rest),
      metadata: await this.#values.dumpJson('metadata', metadata),
      values: Object.fromEntries(await Promise.all(values)),
    });
    const prefix = namespace === '' ? '' : `${namespace}|`;
    for (const other of this.#heads.keys()) {
      // G2
      if (other !== namespace && other.startsWith(prefix) && other.includes(':', prefix.length))
        this.#heads.delete(other);
    }
    return place;
  }

  override async putWrites(
    { configurable = {} }: RunnableConfig,
    given: PendingWrite[],
    task: string,
    path = '',
  ): Promise<void> {
    const { checkpoint_ns: namespace = '', checkpoint_id } = configurable;
    const key = keyOf(namespace, checkpoint_id);
    const writes = await this.#values.dumpWrites(given);
    this.#writes.set(key, [...(this.#writes.get(key) ?? []), { kind: 'writes', namespace, task, path, writes }]);
  }

  override async deleteThread(): Promise<void> {
    this.#heads.clear();
  }

  #writesIn(namespace: string): readonly WritesEntry[] {
    return this.#writes.get(keyOf(namespace, this.#heads.get(namespace)?.id ?? '')) ?? [];
  }

  /** Whether the root's task has written all that it writes. */
  isDone(task: string): boolean {
    const isLast = ({ channel }: { readonly channel: string }): boolean => !NOT_DONE.includes(channel);
    return this.#writesIn('').some((entry) => entry.task === task && entry.writes.some(isLast));
  }

  /** The namespace whose superstep is beyond the recursion limit; undefined: none is. */
  get beyondLimit(): string | undefined {
    return [...this.#heads].find(([, head]) => stepOf(head) + 1 > head.stop)?.[0];
  }

  /** The first question that the framework has asked since this object was made, or the one of this id; undefined: there is none. */
  async interrupt(id?: string): Promise<Asked | undefined> {
    const before = new Set(this.#before['']?.writes);
    const entries = this.#writesIn('').filter((entry) => id !== undefined || !before.has(entry));
    const writes = await this.#values.loadWrites(entries);
    const asked = writes.flatMap(([, channel, value]) => (channel === INTERRUPT ? (value as Asked[]) : []));
    return asked.find((each) => id === undefined || each.id === id);
  }

  /** All of it, as the next belief has it. `isAnswered`: as with the framework, the recursion limit counts anew from an answer. */
  heads(isAnswered: boolean): GraphHeads {
    const heads = [...this.#heads].map(([namespace, head]): [string, Head] => {
      const stop = isAnswered ? stepOf(head) + this.#limit + 2 : head.stop;
      return [namespace, { ...head, stop, writes: this.#writesIn(namespace) }];
    });
    return Object.fromEntries(heads);
  }

  /** What the only task changed, for heads to which others may have been committed meanwhile: its writes, and its own namespaces. */
  changes(): (heads: GraphHeads) => GraphHeads {
    const before = new Set(this.#before['']?.writes);
    const writes = this.#writesIn('').filter((entry) => !before.has(entry));
    const namespaces = Object.entries(this.heads(false)).filter(([namespace]) =>
      namespace.split('|')[0]?.endsWith(`:${this.#only}`),
    );
    return (heads) => ({
      ...heads,
      ...Object.fromEntries(namespaces),
      '': { ...heads['']!, writes: [...heads['']!.writes, ...writes] },
    });
  }
}

const keyOf = (namespace: string, checkpoint: string): string => JSON.stringify([namespace, checkpoint]);

const stepOf = ({ metadata }: Pick<Head, 'metadata'>): number => (metadata as { readonly step: number }).step;

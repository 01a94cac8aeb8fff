/**
 * Owns taking a thread over from any checkpointer of the framework to any other, with its whole history and what it waits for. It goes both
 * ways. It changes nothing at the source, and writes nothing twice.
 */

import type { RunnableConfig } from '@langchain/core/runnables';
import {
  type BaseCheckpointSaver,
  type ChannelVersions,
  type CheckpointTuple,
  type PendingWrite,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { ConflictError, LimitError } from '@tidemark/core';

/** Most checkpoints of one thread that are taken over. */
const CHECKPOINTS_MAX_COUNT = 100_000;

export interface Adopted {
  readonly thread: string;
  /** Checkpoints that were copied, and those that were there already. */
  readonly copiedCount: number;
  readonly knownCount: number;
}

/**
 * Copies a thread, its oldest checkpoint first. Nobody may invoke it at the source meanwhile, or afterwards: what its newest checkpoint waits
 * for would run in both places. May be repeated, also after it died in between. Throws `ConflictError` (`thread-moved-on`: the thread was
 * written at the source meanwhile; `thread-diverged`: the target has gone on by itself), and what the two throw.
 */
export async function adoptThread(
  from: BaseCheckpointSaver,
  to: BaseCheckpointSaver,
  thread: string,
): Promise<Adopted> {
  const tuples = await historyOf(from, thread);
  const known = new Map((await historyOf(to, thread)).map((tuple) => [keyOf(tuple), namesOfWrites(tuple)]));
  const source = new Map(tuples.map((tuple) => [keyOf(tuple), namesOfWrites(tuple)]));
  for (const [key, writes] of known) {
    const there = source.get(key);
    if (there !== undefined && writes.every((name) => there.includes(name))) continue;
    throw conflict(
      'thread-diverged',
      thread,
      'has at the target what the source has not: it was invoked there. Nothing was copied',
    );
  }
  const versions = new Map(tuples.map((tuple) => [keyOf(tuple), tuple.checkpoint.channel_versions]));
  let copiedCount = 0;
  for (const tuple of tuples) {
    const key = keyOf(tuple);
    if (!known.has(key)) {
      await copy(to, tuple, versions);
      copiedCount++;
    }
    // Of one that was copied before, some may be missing; of those that are there the first ones stand.
    if ((known.get(key)?.length ?? 0) < source.get(key)!.length) await copyWrites(to, tuple);
  }
  const after = await historyOf(from, thread);
  if (JSON.stringify(after.map(stateOf)) !== JSON.stringify(tuples.map(stateOf))) {
    const why = 'was written at the source while it was copied. Stop what invokes it there, and copy it again';
    throw conflict('thread-moved-on', thread, why);
  }
  return { thread, copiedCount, knownCount: tuples.length - copiedCount };
}

/** Which tasks wrote which channels. */
const namesOfWrites = ({ pendingWrites = [] }: CheckpointTuple): readonly string[] =>
  pendingWrites.map(([task, channel]) => JSON.stringify([task, channel]));

const stateOf = (tuple: CheckpointTuple): unknown => [keyOf(tuple), namesOfWrites(tuple)];

/** A parent comes before what follows from it; else by id, which is by time. Throws `LimitError` (`thread-too-long`). */
async function historyOf(saver: BaseCheckpointSaver, thread: string): Promise<readonly CheckpointTuple[]> {
  const found = new Map<string, CheckpointTuple>();
  for await (const tuple of saver.list({ configurable: { thread_id: thread } })) {
    found.set(keyOf(tuple), tuple);
    if (found.size <= CHECKPOINTS_MAX_COUNT) continue;
    const message = `Thread ${thread} has more than ${CHECKPOINTS_MAX_COUNT} checkpoints: nothing was copied.`;
    throw new LimitError('thread-too-long', message, { thread });
  }
  const ordered = new Set<CheckpointTuple>();
  for (const tuple of [...found.values()].toSorted((a, b) => (a.checkpoint.id < b.checkpoint.id ? -1 : 1))) {
    const line: CheckpointTuple[] = [];
    for (
      let next: CheckpointTuple | undefined = tuple;
      next !== undefined && !ordered.has(next) && !line.includes(next);
    ) {
      line.push(next);
      const { checkpoint_ns: namespace = '', checkpoint_id: id = '' } = next.parentConfig?.configurable ?? {};
      next = found.get(JSON.stringify([namespace, id]));
    }
    for (const each of line.toReversed()) ordered.add(each);
  }
  return [...ordered];
}

const placeOf = (config: RunnableConfig, checkpoint_id: string | undefined): RunnableConfig => ({
  configurable: { ...config.configurable, checkpoint_id },
});

const keyOf = ({ config, checkpoint: { id } }: Pick<CheckpointTuple, 'config' | 'checkpoint'>): string =>
  JSON.stringify([config.configurable?.checkpoint_ns ?? '', id]);

async function copy(
  to: BaseCheckpointSaver,
  tuple: CheckpointTuple,
  versionsOf: ReadonlyMap<string, ChannelVersions>,
): Promise<void> {
  const { config, checkpoint, metadata, parentConfig } = tuple;
  // A parent that was pruned at the source is none.
  const parent: string | undefined = parentConfig?.configurable?.checkpoint_id;
  const before =
    parent === undefined
      ? undefined
      : versionsOf.get(JSON.stringify([config.configurable?.checkpoint_ns ?? '', parent]));
  const changed = Object.entries(checkpoint.channel_versions).filter(
    ([channel, version]) => before?.[channel] !== version,
  );
  // Read by its id, so that the target takes it as one to go on from at will.
  if (before !== undefined) await to.getTuple(placeOf(config, parent));
  const place = placeOf(config, before === undefined ? undefined : parent);
  await to.put(place, checkpoint, metadata!, Object.fromEntries(changed));
}

/**
 * Their order is kept by paths: the interface shows writes in order, and not the paths by which they were sorted. A task whose writes come in
 * two places repeats the earlier ones, which stand, so that the later ones have indices of their own; special ones have theirs anyway.
 */
async function copyWrites(
  to: BaseCheckpointSaver,
  { config, checkpoint, pendingWrites = [] }: CheckpointTuple,
): Promise<void> {
  const ordinary = new Map<string, PendingWrite[]>();
  for (let at = 0; at < pendingWrites.length; ) {
    const task = pendingWrites[at]![0];
    const path = String(at).padStart(8, '0');
    const own = ordinary.get(task) ?? [];
    ordinary.set(task, own);
    const special: PendingWrite[] = [];
    for (; pendingWrites[at]?.[0] === task; at++) {
      const [, channel, value] = pendingWrites[at]!;
      (Object.hasOwn(WRITES_IDX_MAP, channel) ? special : own).push([channel, value]);
    }
    await to.putWrites(placeOf(config, checkpoint.id), [...own, ...special], task, path);
  }
}

const conflict = (code: string, thread: string, why: string): ConflictError =>
  new ConflictError(code, `Thread ${thread} ${why}.`, { thread });

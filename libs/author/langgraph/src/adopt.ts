/**
 * Owns taking a thread over from any checkpointer of the framework to any other, with its whole history and what it waits for. It goes both
 * ways. It changes nothing at the source, and writes nothing twice.
 */

import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  BaseCheckpointSaver,
  ChannelVersions,
  CheckpointPendingWrite,
  CheckpointTuple,
} from '@langchain/langgraph-checkpoint';
import { ConflictError } from '@tidemark/core';

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
  const known = new Map((await historyOf(to, thread)).map((tuple) => [keyOf(tuple), tuple.pendingWrites?.length ?? 0]));
  const own = new Set(tuples.map(keyOf));
  const strange = [...known.keys()].find((key) => !own.has(key));
  if (strange !== undefined) {
    throw conflict(
      'thread-diverged',
      thread,
      'has checkpoints at the target that the source has not: it was invoked there. Nothing was copied',
    );
  }
  const versions = new Map(tuples.map((tuple) => [keyOf(tuple), tuple.checkpoint.channel_versions]));
  let copiedCount = 0;
  for (const tuple of tuples) {
    if (!known.has(keyOf(tuple))) {
      await copy(to, tuple, versions);
      copiedCount++;
    }
    // Of one that was copied before, some may be missing; of those that are there the first ones stand.
    if ((known.get(keyOf(tuple)) ?? 0) < (tuple.pendingWrites?.length ?? 0)) await copyWrites(to, tuple);
  }
  const newest = (await historyOf(from, thread)).map(keyOf);
  if (newest.length !== tuples.length) {
    throw conflict(
      'thread-moved-on',
      thread,
      'was written at the source while it was copied. Stop what invokes it there, and copy it again',
    );
  }
  return { thread, copiedCount, knownCount: tuples.length - copiedCount };
}

/** By time, as the framework's ids have it; a parent comes before what follows from it. */
async function historyOf(saver: BaseCheckpointSaver, thread: string): Promise<readonly CheckpointTuple[]> {
  const found: CheckpointTuple[] = [];
  for await (const tuple of saver.list({ configurable: { thread_id: thread } }, { limit: CHECKPOINTS_MAX_COUNT })) {
    found.push(tuple);
  }
  return found.toSorted((a, b) => (a.checkpoint.id < b.checkpoint.id ? -1 : 1));
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

/** Their order is kept by paths: the interface shows writes in order, and not the paths by which they were sorted. */
async function copyWrites(
  to: BaseCheckpointSaver,
  { config, checkpoint, pendingWrites = [] }: CheckpointTuple,
): Promise<void> {
  const runs: { readonly task: string; readonly writes: CheckpointPendingWrite[] }[] = [];
  for (const write of pendingWrites) {
    const last = runs.at(-1);
    if (last?.task === write[0]) last.writes.push(write);
    else runs.push({ task: write[0], writes: [write] });
  }
  for (const [at, { task, writes }] of runs.entries()) {
    const path = String(at).padStart(8, '0');
    await to.putWrites(
      placeOf(config, checkpoint.id),
      writes.map(([, channel, value]) => [channel, value]),
      task,
      path,
    );
  }
}

const conflict = (code: string, thread: string, why: string): ConflictError =>
  new ConflictError(code, `Thread ${thread} ${why}.`, { thread });

/**
 * Owns the framework's checkpointer over Tidemark. A thread is a stream that no worker claims: its checkpoints are entries, its newest
 * state the stream's belief, so a superstep writes what it changed. It turns the framework's values into JSON and back, and decides nothing.
 */

import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
} from '@langchain/langgraph-checkpoint';
import { ConflictError, diff, InvalidError, type Json, keepLast } from '@tidemark/core';
import { type RecordedHost, RecordedNames, refuseUnknownOptions } from '@tidemark/runtime';
import { type NewCheckpoint, own } from './kept.ts';
import { type FoundCheckpoint, Invocation, type NewWrites, Thread } from './thread.ts';
import { Values } from './values.ts';

/** Threads that a saver remembers; of an older one it reads the newest checkpoint anew. */
const THREADS_MAX_COUNT = 10_000;
/** Newest format of the framework's checkpoints that is known. */
const CHECKPOINT_VERSION = 4;

export interface SaverOptions {
  /** Whose the threads are; of an ordinary installation when absent. */
  readonly tenant?: string | undefined;
  /** Under which lists show them, and by which their ids begin: 1 to 40 of a to z, 0 to 9 and '-'. Default: langgraph. */
  readonly name?: string | undefined;
  readonly serde?: SerializerProtocol | undefined;
}

export class TidemarkSaver extends BaseCheckpointSaver {
  readonly #names: RecordedNames;
  readonly #values: Values;
  readonly #threads = new Map<string, Thread>();

  /** Throws `InvalidError` (`option-unknown`, `config-invalid`, `name-invalid`). */
  constructor(host: RecordedHost, options: SaverOptions = {}) {
    refuseUnknownOptions('TidemarkSaver', options, { tenant: true, name: true, serde: true });
    const { tenant, name = 'langgraph', serde } = options;
    super(serde);
    this.#values = new Values(this.serde);
    this.#names = new RecordedNames(host, { tenant, kind: name });
  }

  #thread(id: string): Thread {
    const known = this.#threads.get(id) ?? new Thread(id, this.#names.streamOf(id));
    keepLast(this.#threads, id, known, THREADS_MAX_COUNT);
    return known;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id, checkpoint_ns } = config.configurable ?? {};
    if (thread_id === undefined) return undefined;
    const [id, namespace] = [checked('thread_id', thread_id), checked('checkpoint_ns', checkpoint_ns ?? '')];
    const checkpoint = getCheckpointId(config);
    const wanted = checkpoint === '' ? undefined : checked('checkpoint_id', checkpoint);
    const found = await this.#found(config, id, namespace, wanted);
    return found && this.#tuple(id, found);
  }

  /** The first read of the root is where an invocation begins; whoever reads without its bookkeeping is none (`getState`, `updateState`). */
  async #found(
    config: RunnableConfig,
    id: string,
    namespace: string,
    checkpoint: string | undefined,
  ): Promise<FoundCheckpoint | undefined> {
    const known = invocationOf(config, id);
    const { metadata } = config;
    if (known !== undefined || metadata === undefined || namespace !== '') {
      return (known?.thread ?? this.#thread(id)).read(namespace, checkpoint, known);
    }
    const { invocation, found } = await this.#thread(id).begin(checkpoint);
    Object.assign(metadata, { [INVOCATION]: invocation });
    return found;
  }

  /** From the newest entry of each thread to its oldest; of all threads, the one that was opened last comes first. */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns } = config?.configurable ?? {};
    const checkpoint_id = getCheckpointId(config ?? {});
    const { before, filter = {}, limit = Number.POSITIVE_INFINITY } = options;
    const upTo: string | undefined = before?.configurable?.checkpoint_id;
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
    let left = limit;
    const ids = thread_id ? [{ name: checked('thread_id', thread_id) }] : this.#names.all();
    for await (const { name: id } of ids) {
      if (left <= 0) return;
      for await (const found of new Thread(id, this.#names.streamOf(id)).history()) {
        const { namespace, kept } = found;
        if (checkpoint_ns !== undefined && namespace !== checkpoint_ns) continue;
        if (checkpoint_id !== '' && kept.id !== checkpoint_id) continue;
        if (upTo !== undefined && kept.id >= upTo) continue;
        const metadata = kept.metadata as { readonly [name: string]: Json };
        if (!wanted.every(([key, value]) => isSame(own(metadata, key), value))) continue;
        yield await this.#tuple(id, found);
        if (--left <= 0) return;
      }
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns } = configurableOf(config);
    const [id, namespace] = [checked('thread_id', thread_id), checked('checkpoint_ns', checkpoint_ns ?? '')];
    const parent = getCheckpointId(config);
    await this.#write(
      config,
      id,
      this.#keep(checkpoint, metadata, newVersions, namespace, parent === '' ? null : parent),
    );
    return { configurable: { thread_id: id, checkpoint_ns: namespace, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const { thread_id, checkpoint_ns, checkpoint_id } = configurableOf(config);
    const [id, checkpoint] = [checked('thread_id', thread_id), checked('checkpoint_id', checkpoint_id)];
    const place = [checked('checkpoint_ns', checkpoint_ns ?? ''), checkpoint] as const;
    await this.#write(config, id, this.#keepWrites(...place, writes, checked('taskId', taskId), taskPath));
  }

  #write(config: RunnableConfig, id: string, given: Promise<NewCheckpoint | NewWrites>): Promise<void> {
    const invocation = invocationOf(config, id);
    return (invocation?.thread ?? this.#thread(id)).write(given, invocation);
  }

  /** Ends the thread, and destroys the keys of its history where it is encrypted. Another of its name begins anew. Harmless when repeated. */
  override async deleteThread(threadId: string): Promise<void> {
    const id = checked('thread_id', threadId);
    await this.#names.delete(id, 'its thread was deleted');
    this.#thread(id).refuse(deleted(id));
  }

  async #keep(
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
    namespace: string,
    parent: string | null,
  ): Promise<NewCheckpoint> {
    const { channel_values: channels, ...rest } = checkpoint;
    const versions = { ...rest.channel_versions };
    // The copy of a checkpoint names none as new, and has another parent than what it copies.
    const named = Object.keys(metadata.source === 'fork' ? versions : newVersions);
    const values = named.map(async (channel) => {
      const isSet = Object.hasOwn(channels, channel);
      return [channel, isSet ? await this.#values.dump(`channel ${channel}`, channels[channel]) : null] as const;
    });
    const [changed, kept, about] = await Promise.all([
      Promise.all(values),
      this.#values.dumpJson('checkpoint', rest),
      this.#values.dumpJson('metadata', metadata),
    ]);
    return {
      ...{ kind: 'put', namespace, id: checked('checkpoint.id', checkpoint.id), parent, versions },
      checkpoint: kept,
      metadata: about,
      changed: Object.fromEntries(changed),
    };
  }

  async #keepWrites(
    namespace: string,
    id: string,
    given: readonly PendingWrite[],
    task: string,
    path: string,
  ): Promise<NewWrites> {
    return { kind: 'writes', namespace, id, task, path, writes: await this.#values.dumpWrites(given) };
  }

  async #tuple(thread: string, { namespace, kept, writes }: FoundCheckpoint): Promise<CheckpointTuple> {
    const placeOf = (id: string): RunnableConfig => ({
      configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id },
    });
    const { checkpoint, metadata } = await this.#values.loadCheckpoint(kept);
    if (checkpoint.v > CHECKPOINT_VERSION) {
      const message = `Checkpoint ${kept.id} of thread ${thread} has format ${checkpoint.v}, and this release knows ${CHECKPOINT_VERSION}: a newer version of the framework wrote it. Read it with that one.`;
      throw new InvalidError('checkpoint-newer', message, { thread, checkpoint: kept.id, format: checkpoint.v });
    }
    if (checkpoint.v < 4 && kept.parent !== null)
      await this.#movePendingSends(checkpoint, thread, namespace, kept.parent);
    return {
      config: placeOf(kept.id),
      checkpoint,
      metadata,
      ...(kept.parent !== null && { parentConfig: placeOf(kept.parent) }),
      pendingWrites: await this.#values.loadWrites(writes),
    };
  }

  /** Older formats kept what a checkpoint sends with its parent's writes. */
  async #movePendingSends(checkpoint: Checkpoint, thread: string, namespace: string, parent: string): Promise<void> {
    const before = await new Thread(thread, this.#names.streamOf(thread)).read(namespace, parent);
    const sends = (await this.#values.loadWrites(before?.writes ?? [])).filter(([, channel]) => channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

/**
 * Marks the configuration of an invocation, which the framework copies to all that the invocation reads and writes, also in subgraphs. Nobody
 * else sees the mark.
 */
const INVOCATION = Symbol('invocation of a thread');

function invocationOf({ metadata }: RunnableConfig, thread: string): Invocation | undefined {
  const found: unknown = metadata && Reflect.get(metadata, INVOCATION);
  return found instanceof Invocation && found.thread.name === thread ? found : undefined;
}

const isSame = (found: Json | undefined, wanted: unknown): boolean =>
  found !== undefined && diff(found, wanted as Json) === undefined;

const deleted = (thread: string): ConflictError =>
  new ConflictError('thread-deleted', `Thread ${thread} was deleted: read it before anything is written to it.`, {
    thread,
  });

type Configurable = NonNullable<RunnableConfig['configurable']>;

function configurableOf({ configurable }: RunnableConfig): Configurable {
  if (configurable !== undefined) return configurable;
  throw new InvalidError('config-invalid', 'config.configurable: give one with a thread_id.', {
    field: 'configurable',
  });
}

/** Most characters of a name in a config. */
const NAME_MAX_CHARS = 4_096;
/** Most characters of a checkpoint's id. */
const CHECKPOINT_MAX_CHARS = 400;

/** Throws `InvalidError` (`config-invalid`). */
function checked(field: string, value: unknown): string {
  const maxChars = field.startsWith('checkpoint') && field !== 'checkpoint_ns' ? CHECKPOINT_MAX_CHARS : NAME_MAX_CHARS;
  const isEmpty = value === '' && field !== 'checkpoint_ns';
  if (typeof value === 'string' && !isEmpty && value.length <= maxChars && value.isWellFormed()) return value;
  const got =
    typeof value === 'string' ? `one of ${value.length} characters` : `${value === null ? 'null' : typeof value}`;
  throw new InvalidError('config-invalid', `${field}: give a text of 1 to ${maxChars} characters, not ${got}.`, {
    field,
  });
}

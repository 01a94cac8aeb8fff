/** Owns the way of the framework's values to JSON and back, by the framework's serializer. It keeps nothing. */

import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  compareWritesSortKeys,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
  writesSortKey,
} from '@langchain/langgraph-checkpoint';
import { InvalidError, type Json, messageOf } from '@tidemark/core';
import { type KeptValue, own, type WritesEntry } from './kept.ts';

export class Values {
  readonly #serde: SerializerProtocol;

  constructor(serde: SerializerProtocol) {
    this.#serde = serde;
  }

  /** Throws `InvalidError` (`not-serialisable`), which names `what`. */
  async dump(what: string, value: unknown): Promise<KeptValue> {
    const [type, bytes] = await this.#typed(what, value);
    if (type === 'json') {
      try {
        return { json: JSON.parse(new TextDecoder().decode(bytes)) as Json };
      } catch {
        // A serializer may call JSON what isn't; its bytes are kept as they are.
      }
    }
    return { type, base64: Buffer.from(bytes).toString('base64') };
  }

  /** Throws `InvalidError` (`serializer-unfit`) besides. */
  async dumpJson(what: string, value: unknown): Promise<Json> {
    const dumped = await this.dump(what, value);
    if ('json' in dumped) return dumped.json;
    throw new InvalidError('serializer-unfit', `${what}: the serializer gives ${dumped.type}, where JSON is needed.`, {
      what,
    });
  }

  async #typed(what: string, value: unknown): Promise<readonly [string, Uint8Array]> {
    try {
      return await this.#serde.dumpsTyped(value);
    } catch (error) {
      throw new InvalidError('not-serialisable', `${what}: the serializer can't keep it: ${messageOf(error)}`, {
        what,
        cause: error,
      });
    }
  }

  load(value: KeptValue): Promise<unknown> {
    return 'json' in value
      ? this.#serde.loadsTyped('json', JSON.stringify(value.json))
      : this.#serde.loadsTyped(value.type, new Uint8Array(Buffer.from(value.base64, 'base64')));
  }

  dumpWrites(given: readonly PendingWrite[]): Promise<WritesEntry['writes']> {
    return Promise.all(
      given.map(async ([channel, value], at) => ({
        index: own(WRITES_IDX_MAP, channel) ?? at,
        channel,
        value: await this.dump(`write to ${channel}`, value),
      })),
    );
  }

  /** In the order in which the framework applies them. A task's first write of an index stands, and its last special one. */
  async loadWrites(entries: readonly WritesEntry[]): Promise<CheckpointPendingWrite[]> {
    const found = new Map<
      string,
      { key: ReturnType<typeof writesSortKey>; task: string; channel: string; value: KeptValue }
    >();
    for (const { task, path, writes } of entries) {
      for (const { index, channel, value } of writes) {
        const name = JSON.stringify([task, index]);
        if (index >= 0 && found.has(name)) continue;
        found.set(name, { key: writesSortKey(path, task, index), task, channel, value });
      }
    }
    const sorted = [...found.values()].sort((a, b) => compareWritesSortKeys(a.key, b.key));
    return Promise.all(
      sorted.map(
        async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [task, channel, await this.load(value)],
      ),
    );
  }

  async loadCheckpoint(kept: {
    readonly checkpoint: Json;
    readonly metadata: Json;
    readonly values: { readonly [channel: string]: { readonly value: KeptValue } };
  }): Promise<{ readonly checkpoint: Checkpoint; readonly metadata: CheckpointMetadata }> {
    const [rest, metadata, ...values] = await Promise.all([
      this.load({ json: kept.checkpoint }),
      this.load({ json: kept.metadata }),
      ...Object.entries(kept.values).map(async ([channel, { value }]) => [channel, await this.load(value)] as const),
    ]);
    const checkpoint = { ...(rest as Omit<Checkpoint, 'channel_values'>), channel_values: Object.fromEntries(values) };
    return { checkpoint, metadata: metadata as CheckpointMetadata };
  }
}

/**
 * Owns one view of a log whose payloads are encrypted: what is appended is sealed with its workflow's key, what is read is opened, so
 * that whoever reads and writes through it knows nothing of keys. Below it, log, blobs, segments and whoever archives see sealed bytes
 * alone. Must not know how keys are kept. Invariants: what has an owner and says something never reaches the log below unsealed; only
 * what was sealed with a key that was destroyed is read as empty.
 */

import { decodeRecord, openRecord, SEALING_MAX_BYTES, type SealingKey, sealedWith, sealRecord } from '@tidemark/codec';
import { CorruptError, invariant, type Offset, type Partition, type WorkflowId } from '@tidemark/core';
import type { EventLog, LogRecord, ReadRequest, ReadResult } from '@tidemark/ports';
import { type Prepared, PreparedLog } from './prepared-log.ts';
import { OpeningKeys, type WorkflowKeys } from './workflow-keys.ts';

const EMPTY = Buffer.from('\nnull');

/** Whether the record says anything beyond its header. */
const hasPayload = ({ value }: LogRecord): boolean => Buffer.compare(value.subarray(-EMPTY.length), EMPTY) !== 0;

export class SealedLog extends PreparedLog {
  readonly recordMaxBytes: number;
  readonly inlineMaxBytes: number | undefined;
  readonly #keys: WorkflowKeys;

  constructor(inner: EventLog, keys: WorkflowKeys) {
    super(inner);
    this.#keys = keys;
    this.recordMaxBytes = inner.recordMaxBytes - SEALING_MAX_BYTES;
    this.inlineMaxBytes = inner.inlineMaxBytes === undefined ? undefined : inner.inlineMaxBytes - SEALING_MAX_BYTES;
  }

  /** Undefined: a key is not at hand, or something is wrong, which `prepare` tells. */
  protected override atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined {
    const sealed: LogRecord[] = [];
    for (const record of records) {
      const { owner } = record;
      if (owner === undefined || !hasPayload(record)) {
        sealed.push(record);
        continue;
      }
      const key = this.#keys.peek(owner);
      const value = key && sealedValue(record, key);
      if (value === undefined) return undefined;
      sealed.push({ ...record, value });
    }
    return sealed;
  }

  protected override async prepare(records: readonly LogRecord[]): Promise<Prepared> {
    const sealed = records.map(async (record) => {
      const { owner, type } = record;
      if (owner === undefined || !hasPayload(record)) return record;
      const value = sealedValue(record, await this.#keys.find(owner));
      invariant(value !== undefined, `a ${type} can't be sealed, and would be stored as plain text`, {
        ...owner,
        type,
      });
      return { ...record, value };
    });
    return { records: await Promise.all(sealed) };
  }

  override async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.inner.read(requests, options);
    const sealed = new Map<Uint8Array, string>();
    for (const { records } of results) {
      for (const { value } of records) {
        const id = sealedWith(value);
        if (id !== undefined) sealed.set(value, id);
      }
    }
    if (sealed.size === 0) return results;
    const keys = new OpeningKeys(this.#keys);
    do {
      for (const [value, id] of sealed) keys.of(id, () => workflowIn(value));
    } while (await keys.fetched());
    return results.map((result) => openedResult(result, sealed, keys));
  }
}

/** Undefined: it is no record as `encodeRecord` writes them. One that is sealed already stays as it is. */
function sealedValue({ value }: LogRecord, key: SealingKey): Uint8Array | undefined {
  const sealed = sealRecord(value, key);
  return sealed !== value || sealedWith(value) !== undefined ? sealed : undefined;
}

function workflowIn(value: Uint8Array): WorkflowId | undefined {
  const entry = decodeRecord(value);
  return entry.kind === 'event' ? entry.envelope.workflow : undefined;
}

/** `sealed`: the ids of the keys that records are sealed with. */
function openedResult(
  { records, ...result }: ReadResult,
  sealed: ReadonlyMap<Uint8Array, string>,
  keys: OpeningKeys,
): ReadResult {
  const opened = records.map((record) => {
    const { offset, value } = record;
    const id = sealed.get(value);
    if (id === undefined) return record;
    const key = keys.of(id, () => undefined);
    invariant(key !== undefined, 'the key of a record that was looked at is held until it is opened', { key: id });
    try {
      return { offset, value: openRecord(value, key) };
    } catch (cause) {
      throw sealedWrong(result.partition, offset, cause);
    }
  });
  return { ...result, records: opened };
}

const sealedWrong = (partition: Partition, offset: Offset, cause: unknown): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `The record at offset ${offset} of partition ${partition} can't be opened with the key that it names: it was changed, or the key is another one. Nothing was taken from it.`,
    { partition, offset, cause },
  );

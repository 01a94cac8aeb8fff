/**
 * Owns a view of a log with encrypted payloads: appends are sealed with the workflow's key, reads are opened, so callers know nothing of
 * keys. The log below, with its blobs, segments and archives, has sealed bytes alone. It does not know how keys are kept.
 *
 * Invariants: a payload with an owner never reaches the log below unsealed. Only content that was sealed with a destroyed key of its own
 * workflow reads as empty. A record that can never be opened is returned with its problem, so that the fold stops its stream and no other;
 * while a key is unavailable, the read fails and is retried.
 */

import {
  decodeRecord,
  openRecord,
  SEALING_MAX_BYTES,
  type SealingKey,
  sealedWith,
  sealRecord,
  workflowOf,
} from '@tidemark/codec';
import { CorruptError, invariant, type WorkflowId } from '@tidemark/core';
import type { EventLog, LogRecord, ReadRequest, ReadResult, StoredRecord } from '@tidemark/ports';
import { TransformingLog } from '../views/index.ts';
import { OpeningKeys, type WorkflowKeys } from './workflow-keys.ts';

/** Bytes of a read that names no bound, and how many times its bound the opened records of one read may have: the last one may exceed it. */
const OPENED_READ_DEFAULT_BYTES = 4 * 1_024 * 1_024;
export const OPENED_READ_RATIO = 8;

/** The problem of a workflow that begins with a plain payload although all payloads must be sealed. */
export const PLAIN_REFUSED = 'plain-refused';

const EMPTY = Buffer.from('\nnull');

/** Whether the record has a payload beside its header. */
const hasPayload = ({ value }: Pick<LogRecord, 'value'>): boolean =>
  Buffer.compare(value.subarray(-EMPTY.length), EMPTY) !== 0;

export interface SealedLogOptions {
  /** Refuses workflows that begin with a plain payload, unless a person has accepted their plain history. */
  readonly refusesPlain?: boolean | undefined;
}

export class SealedLog extends TransformingLog {
  override readonly recordMaxBytes: number;
  override readonly inlineMaxBytes: number | undefined;
  override readonly isSealing = true;
  readonly #keys: WorkflowKeys;
  readonly #refusesPlain: boolean;
  /** The partition whose records are opened first: without turns, others would wait for ever behind a busy one. */
  #turn = 0;

  constructor(inner: EventLog, keys: WorkflowKeys, { refusesPlain = false }: SealedLogOptions = {}) {
    super(inner);
    this.#keys = keys;
    this.#refusesPlain = refusesPlain;
    this.recordMaxBytes = inner.recordMaxBytes - SEALING_MAX_BYTES;
    this.inlineMaxBytes = inner.inlineMaxBytes === undefined ? undefined : inner.inlineMaxBytes - SEALING_MAX_BYTES;
  }

  /** Undefined: a key is not cached, or something is wrong, which `prepare` reports. */
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

  protected override async prepare(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
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
    return Promise.all(sealed);
  }

  override async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.readInner(requests, options);
    const sealed = new Map<Uint8Array, Sealed>();
    const plain: StoredRecord[] = [];
    for (const { records } of results) {
      for (const record of records) {
        if (record.problem !== undefined) continue;
        const id = sealedWith(record.value);
        if (id === undefined) {
          if (this.#refusesPlain) plain.push(record);
          continue;
        }
        const workflow = workflowOf(record.value);
        // Without a workflow it is no event for any reader.
        if (workflow !== undefined) sealed.set(record.value, { id, workflow });
      }
    }
    const refused = plain.length === 0 ? NONE : await this.#refused(plain);
    if (sealed.size === 0 && refused.size === 0) return results;
    const keys = new OpeningKeys(this.#keys);
    do {
      for (const { id, workflow } of sealed.values()) isWanted(keys, id, workflow);
    } while (await keys.fetched());
    const open = (record: StoredRecord): StoredRecord => {
      if (refused.has(record)) return { ...record, problem: PLAIN_REFUSED };
      const by = sealed.get(record.value);
      return by === undefined ? record : opened(record, by, keys);
    };
    return this.#fitting(results, open, (options?.maxBytes ?? OPENED_READ_DEFAULT_BYTES) * OPENED_READ_RATIO);
  }

  /**
   * Opened records count towards a bound: a few bytes may unpack to megabytes. A partition whose turn comes when the bound is reached gets
   * no records, unless none would get any; the others of a partition are read again.
   */
  #fitting(
    results: readonly ReadResult[],
    open: (record: StoredRecord) => StoredRecord,
    maxBytes: number,
  ): readonly ReadResult[] {
    const fitting = [...results];
    const first = this.#turn++;
    let leftBytes = maxBytes;
    for (let index = 0; index < results.length; index++) {
      const at = (first + index) % results.length;
      const records: StoredRecord[] = [];
      for (const record of results[at]!.records) {
        if (leftBytes <= 0) break;
        const whole = open(record);
        leftBytes -= whole.value.length;
        records.push(whole);
      }
      fitting[at] = { ...results[at]!, records };
    }
    return fitting;
  }

  /** Openings that aren't sealed, even empty ones, of workflows whose plain history nobody has accepted. */
  async #refused(plain: readonly StoredRecord[]): Promise<ReadonlySet<StoredRecord>> {
    const refused = new Set<StoredRecord>();
    for (const record of plain) {
      const entry = decodeRecord(record.value);
      if (entry.kind !== 'event' || entry.envelope.type !== 'WorkflowOpened') continue;
      const { tenant, workflow } = entry.envelope;
      if (!(await this.#keys.takesPlain({ tenant, workflow, user: null }))) refused.add(record);
    }
    return refused;
  }
}

interface Sealed {
  /** Id of the key. */
  readonly id: string;
  readonly workflow: WorkflowId;
}

const NONE: ReadonlySet<StoredRecord> = new Set();

/** Undefined: it is no record as `encodeRecord` writes them. A record that is already sealed stays as it is. */
function sealedValue({ value }: LogRecord, key: SealingKey): Uint8Array | undefined {
  const sealed = sealRecord(value, key);
  return sealed !== value || sealedWith(value) !== undefined ? sealed : undefined;
}

/** Requests the key; `opened` reports what is wrong with it. */
function isWanted(keys: OpeningKeys, id: string, workflow: WorkflowId): void {
  try {
    keys.of(id, workflow);
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
  }
}

function opened(record: StoredRecord, { id, workflow }: Sealed, keys: OpeningKeys): StoredRecord {
  const { offset, value } = record;
  try {
    const key = keys.of(id, workflow);
    invariant(key !== undefined, 'the key of a record stays at hand until the record is opened', { key: id });
    return { offset, value: openRecord(value, key), ...(key === null ? { isForgotten: true } : { isOpened: true }) };
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    return { ...record, problem: error.code };
  }
}

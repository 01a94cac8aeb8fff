/**
 * Owns the encoding of a log's records with encrypted payloads: appends are sealed with the workflow's key, reads are opened, so callers
 * know nothing of keys. The log below, with its blobs, segments and archives, has sealed bytes alone. It does not know how keys are kept.
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
import type { LogRecord, ReadResult, StoredRecord } from '@tidemark/ports';
import { inTurns, type LogLimits, type RecordEncoding } from '../views/index.ts';
import { OpeningKeys, type WorkflowKeys } from './workflow-keys.ts';

/** Bound of a read that names none, in bytes. */
const OPENED_READ_DEFAULT_BYTES = 4 * 1_024 * 1_024;
/** How many times a read's bound its opened records may have. The last record may exceed that. */
export const OPENED_READ_RATIO = 8;

/** The problem of a workflow that begins with a plain payload although all payloads must be sealed. */
export const PLAIN_REFUSED = 'plain-refused';

const EMPTY = Buffer.from('\nnull');

/** Whether the record has a payload beside its header. */
const hasPayload = ({ value }: Pick<LogRecord, 'value'>): boolean =>
  Buffer.compare(value.subarray(-EMPTY.length), EMPTY) !== 0;

export interface SealingOptions {
  /** Refuses workflows that begin with a plain payload, unless a person has accepted their plain history. */
  readonly refusesPlain?: boolean | undefined;
}

export class SealedRecords implements RecordEncoding {
  readonly #keys: WorkflowKeys;
  readonly #refusesPlain: boolean;

  constructor(keys: WorkflowKeys, { refusesPlain = false }: SealingOptions = {}) {
    this.#keys = keys;
    this.#refusesPlain = refusesPlain;
  }

  over({ recordMaxBytes, inlineMaxBytes }: LogLimits): LogLimits {
    return {
      recordMaxBytes: recordMaxBytes - SEALING_MAX_BYTES,
      inlineMaxBytes: inlineMaxBytes === undefined ? undefined : inlineMaxBytes - SEALING_MAX_BYTES,
      isSealing: true,
    };
  }

  /** Undefined: a key is not cached, or something is wrong, which `prepare` reports. */
  atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined {
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

  async prepare(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
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

  /**
   * Opened records count towards a bound: a few bytes may unpack to megabytes. A partition whose turn comes when the bound is reached gets
   * no records, unless none would get any; the others of a partition are read again.
   */
  async decode(
    results: readonly ReadResult[],
    first: number,
    maxBytes = OPENED_READ_DEFAULT_BYTES,
  ): Promise<readonly ReadResult[]> {
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
    let leftBytes = maxBytes * OPENED_READ_RATIO;
    return inTurns(results, first, (records) => {
      const opened: StoredRecord[] = [];
      for (const record of records) {
        if (leftBytes <= 0) break;
        const whole = open(record);
        leftBytes -= whole.value.length;
        opened.push(whole);
      }
      return opened;
    });
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

/**
 * Stands where no keys exist: a record that claims to be sealed is returned with its problem, so that the fold stops its stream and no
 * other. It must not be used where keys exist but are unavailable to this process: there a read must fail.
 */
export const KEYLESS: RecordEncoding = {
  over: (below) => below,
  atOnce: (records) => records,
  prepare: async (records) => records,
  decode: async (results) =>
    results.map(({ records, ...result }) => ({
      ...result,
      records: records.map((record) =>
        record.problem === undefined && sealedWith(record.value) !== undefined
          ? { ...record, problem: 'key-missing' }
          : record,
      ),
    })),
};

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

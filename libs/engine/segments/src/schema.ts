/**
 * Owns the columns of a segment: their names, types and meanings, which a person's queries rely on. They stand in this order, in any number
 * of row groups with data pages of version 2; a change of any of it is another version of the format.
 *
 * | column | type | what it holds |
 * | --- | --- | --- |
 * | `partition`, `log_offset` | INT32, INT64 | the place of the record in the log; the only columns that are never null |
 * | `workflow`, `tenant`, `type`, `event_id`, `generation`, `lamport`, `epoch`, `holder`, `ordinal` | text, INT64 | the event's envelope. Null when the record does not have it (see `raw`) |
 * | `written_at` | timestamp, ms, UTC | when it was written, by the writer's clock |
 * | `position` | INT64 | the accepted event's place in its workflow, 1, 2, 3 … |
 * | `rejected` | text | why the event was rejected; null together with `position`: an event of a newer release |
 * | `control` | text | what the fold reads, as JSON |
 * | `payload` | text | the payload: the bytes behind the header, unchanged. JSON where `payload_encoding` is `json`, which is not verified |
 * | `payload_bytes` | bytes | the payload when its bytes are no UTF-8 or contain a NUL |
 * | `payload_encoding` | text | how the payload is to be read: `json`, or `sealed` with a data key; `blob` and `sealed-blob`: it is the name of the blob that holds it |
 * | `data_key` | text | the id of that key |
 * | `sequence`, `step` | INT64, text | of a checkpoint: its number, and the step that it ends |
 * | `tokens`, `cost_micros` | DOUBLE | of a checkpoint: the cost of its step, model calls included; millionths of a US dollar |
 * | `checkpoint`, `task`, `effect_key`, `operation`, `outcome` | text | of `control`, for events that have them |
 * | `layout` | text | the order of the header's members, from which it is restored |
 * | `raw` | bytes | the header line itself, where the columns can't restore it; `layout` is then null |
 *
 * A record's bytes: the header line, that is `raw`, or a JSON object without spaces whose members are those of `layout`, with `v` 1 (2 where it has a
 * `key`, that is `data_key`), each
 * number and text from its column (`id` is `event_id`, `atMs` is `written_at` in ms), `control` as it is, and `payload` from
 * `payload_encoding`; then, unless both payload columns are null, a line feed and the payload.
 */

/** Version of the format that this code writes and reads. */
export const SEGMENT_VERSION = 1;

/**
 * How a column is written. `number`: whole ones, by their differences. `double`. `name`: texts that come again, by a dictionary.
 * `text` and `bytes`: one after the other.
 */
type ColumnKind = 'number' | 'double' | 'name' | 'text' | 'bytes';

interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly physical: 'INT32' | 'INT64' | 'DOUBLE' | 'BYTE_ARRAY';
  readonly logical?: 'STRING' | 'TIMESTAMP_MILLIS';
  /** Whether every row has a value. */
  readonly isRequired: boolean;
}

const TEXT = { physical: 'BYTE_ARRAY', logical: 'STRING', isRequired: false } as const;
const BYTES = { physical: 'BYTE_ARRAY', isRequired: false } as const;
const COUNT = { kind: 'number', physical: 'INT64', isRequired: false } as const;
const AMOUNT = { kind: 'double', physical: 'DOUBLE', isRequired: false } as const;

export const segmentColumns = [
  { name: 'partition', kind: 'number', physical: 'INT32', isRequired: true },
  { name: 'log_offset', kind: 'number', physical: 'INT64', isRequired: true },
  { name: 'workflow', kind: 'name', ...TEXT },
  { name: 'tenant', kind: 'name', ...TEXT },
  { name: 'type', kind: 'name', ...TEXT },
  { name: 'event_id', kind: 'text', ...TEXT },
  { name: 'generation', ...COUNT },
  { name: 'position', ...COUNT },
  { name: 'rejected', kind: 'name', ...TEXT },
  { name: 'lamport', ...COUNT },
  { name: 'epoch', ...COUNT },
  { name: 'holder', kind: 'name', ...TEXT },
  { name: 'ordinal', ...COUNT },
  { name: 'written_at', kind: 'number', physical: 'INT64', logical: 'TIMESTAMP_MILLIS', isRequired: false },
  { name: 'control', kind: 'text', ...TEXT },
  { name: 'payload', kind: 'bytes', ...TEXT },
  { name: 'payload_bytes', kind: 'bytes', ...BYTES },
  { name: 'payload_encoding', kind: 'name', ...TEXT },
  { name: 'data_key', kind: 'name', ...TEXT },
  { name: 'sequence', ...COUNT },
  { name: 'step', kind: 'name', ...TEXT },
  { name: 'checkpoint', kind: 'text', ...TEXT },
  { name: 'task', kind: 'text', ...TEXT },
  { name: 'tokens', ...AMOUNT },
  { name: 'cost_micros', ...AMOUNT },
  { name: 'effect_key', kind: 'text', ...TEXT },
  { name: 'operation', kind: 'name', ...TEXT },
  { name: 'outcome', kind: 'name', ...TEXT },
  { name: 'layout', kind: 'name', ...TEXT },
  { name: 'raw', kind: 'bytes', ...BYTES },
] as const satisfies readonly Column[];

export type SegmentColumn = (typeof segmentColumns)[number];
export type ColumnName = SegmentColumn['name'];
export type KindOf<Name extends ColumnName> = Extract<SegmentColumn, { readonly name: Name }>['kind'];

/**
 * Texts in the footer. `segment` and `sha256` are what every version keeps: the format's version, and the digest of seal.ts.
 */
export const textKeys = {
  version: 'tidemark.segment',
  digest: 'tidemark.sha256',
  partition: 'tidemark.partition',
  from: 'tidemark.from',
  to: 'tidemark.to',
  chainBefore: 'tidemark.chain_before',
  chainAfter: 'tidemark.chain_after',
} as const;

export const CREATED_BY = 'tidemark version 1';

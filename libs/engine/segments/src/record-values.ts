/** Owns restoring the bytes of records from their columns. */

import { sound } from './damage.ts';
import { type HeaderFields, type Layout, layoutNamed } from './header.ts';
import { LAYOUTS_MAX, SEGMENT_RAW_MAX_BYTES } from './limits.ts';
import { type Cells, latin1Of, type RowGroupReader } from './row-group-reader.ts';
import type { ColumnName } from './schema.ts';

/** Records are decoded into buffers of this size, which live as long as any of their records is referenced. */
const ARENA_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;

/** The records of one segment, row group after row group. */
export class RecordValues {
  readonly #layouts = new Map<string, Layout>();
  readonly #arena = new Arena();

  /** The bytes of a row group's records, in order. Throws `CorruptError` (`segment-damaged`). */
  read(columns: RowGroupReader): readonly Uint8Array[] {
    const fieldsAt = fieldsOf(columns);
    const layouts = columns.read('layout');
    const raw = columns.read('raw');
    const payloads = columns.read('payload');
    const payloadBytes = columns.read('payload_bytes');
    return layouts.map((layout, row) => {
      const rawHeader = raw[row]!;
      sound((rawHeader === null) !== (layout === null), `row ${row} has no header, or two`);
      sound(payloads[row] === null || payloadBytes[row] === null, `row ${row} has two payloads`);
      const header = rawHeader ?? this.#layout(layout!).put(fieldsAt(row));
      return this.#arena.joined(header, payloads[row] ?? payloadBytes[row]!);
    });
  }

  #layout(text: string): Layout {
    const known = this.#layouts.get(text);
    if (known !== undefined) return known;
    const layout = layoutNamed(text);
    sound(layout !== undefined, 'a layout is not valid');
    sound(this.#layouts.size < LAYOUTS_MAX, 'it has too many layouts');
    this.#layouts.set(text, layout);
    return layout;
  }
}

/** The fields of each row's header, texts as Latin-1 strings of UTF-8 bytes. */
function fieldsOf(columns: RowGroupReader): (row: number) => HeaderFields {
  const id = columns.read('event_id');
  const tenant = columns.read('tenant');
  const workflow = columns.read('workflow');
  const generation = columns.read('generation');
  const lamport = columns.read('lamport');
  const epoch = columns.read('epoch');
  const holder = columns.read('holder');
  const ordinal = columns.read('ordinal');
  const atMs = columns.read('written_at');
  const type = columns.read('type');
  const control = columns.read('control');
  const payload = columns.read('payload_encoding');
  const key = columns.read('data_key');
  return (row) => ({
    id: latin1Of(cellOf(id, row)),
    tenant: cellOf(tenant, row),
    workflow: cellOf(workflow, row),
    generation: cellOf(generation, row),
    lamport: cellOf(lamport, row),
    epoch: cellOf(epoch, row),
    holder: cellOf(holder, row),
    ordinal: cellOf(ordinal, row),
    atMs: cellOf(atMs, row),
    type: cellOf(type, row),
    control: latin1Of(cellOf(control, row)),
    payload: cellOf(payload, row),
    ...(key[row] !== null && { key: cellOf(key, row) }),
  });
}

function cellOf<Name extends ColumnName>(cells: Cells<Name>, row: number): NonNullable<Cells<Name>[number]> {
  const cell = cells[row];
  sound(cell !== null && cell !== undefined, `row ${row} lacks a value`);
  return cell;
}

/** Memory for the records: a buffer for many, since one for each costs more than its bytes. */
class Arena {
  #buffer = Buffer.alloc(0);
  #at = 0;
  #totalBytes = 0;

  /** The header, then a line feed and the payload if there is one. */
  joined(header: string | Uint8Array, payload: Uint8Array | null): Uint8Array {
    const length = header.length + (payload === null ? 0 : 1 + payload.length);
    this.#totalBytes += length;
    sound(this.#totalBytes <= SEGMENT_RAW_MAX_BYTES, 'its records are more than a segment may hold');
    this.#reserve(length);
    const start = this.#at;
    this.#at += length;
    if (typeof header === 'string') this.#buffer.write(header, start, 'latin1');
    else this.#buffer.set(header, start);
    if (payload !== null) {
      const lineFeedAt = start + header.length;
      this.#buffer[lineFeedAt] = LINE_FEED;
      this.#buffer.set(payload, lineFeedAt + 1);
    }
    return this.#buffer.subarray(start, this.#at);
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#buffer.length) return;
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, length));
    this.#at = 0;
  }
}

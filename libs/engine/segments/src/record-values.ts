/** Owns putting the bytes of records together again from their columns. */

import { sound } from './damage.ts';
import { type HeaderFields, type Layout, layoutNamed } from './header.ts';
import { ARENA_BYTES, LAYOUTS_MAX, SEGMENT_RAW_MAX_BYTES } from './limits.ts';
import type { Names, Texts } from './parquet/column-reader.ts';
import type { SegmentColumns } from './segment-columns.ts';

const LINE_FEED = 0x0a;

/** The records' bytes, in order. Throws `CorruptError` (`segment-damaged`). */
export function recordValues(columns: SegmentColumns, count: number): readonly Uint8Array[] {
  const headers = new Headers(columns);
  const payloads = columns.texts('payload');
  const payloadBytes = columns.texts('payload_bytes');
  const arena = new Arena();
  const values: Uint8Array[] = new Array(count);
  for (let row = 0; row < count; row++) {
    const header = headers.at(row);
    sound(payloads.lengths[row]! < 0 || payloadBytes.lengths[row]! < 0, `row ${row} has two payloads`);
    const payload = payloads.lengths[row]! < 0 ? payloadBytes : payloads;
    values[row] = arena.joined(header, payload, row);
  }
  return values;
}

/** The header lines of the rows. */
class Headers {
  readonly #layouts: readonly Layout[];
  readonly #layoutOf: Int32Array;
  readonly #raw: Texts;
  readonly #numbers: { readonly [name in 'generation' | 'lamport' | 'epoch' | 'ordinal' | 'atMs']: Float64Array };
  readonly #names: { readonly [name in 'tenant' | 'workflow' | 'holder' | 'type' | 'payload' | 'key']: Names };
  readonly #texts: { readonly [name in 'id' | 'control']: Texts };

  constructor(columns: SegmentColumns) {
    const { entries, indexes } = columns.names('layout');
    sound(entries.length <= LAYOUTS_MAX, 'it has too many layouts');
    this.#layouts = entries.map((entry) => {
      const layout = layoutNamed(entry);
      sound(layout !== undefined, 'a layout is none');
      return layout;
    });
    this.#layoutOf = indexes;
    this.#raw = columns.texts('raw');
    this.#numbers = {
      generation: columns.numbers('generation'),
      lamport: columns.numbers('lamport'),
      epoch: columns.numbers('epoch'),
      ordinal: columns.numbers('ordinal'),
      atMs: columns.numbers('written_at'),
    };
    this.#names = {
      tenant: columns.names('tenant'),
      workflow: columns.names('workflow'),
      holder: columns.names('holder'),
      type: columns.names('type'),
      payload: columns.names('payload_encoding'),
      key: columns.names('data_key'),
    };
    this.#texts = { id: columns.texts('event_id'), control: columns.texts('control') };
  }

  at(row: number): string | Buffer {
    const index = this.#layoutOf[row]!;
    const isRaw = this.#raw.lengths[row]! >= 0;
    sound(isRaw === index < 0, `row ${row} has no header, or two`);
    if (isRaw) return bytesAt(this.#raw, row);
    return this.#layouts[index]!.put(this.#fields(row));
  }

  #fields(row: number): HeaderFields {
    const { generation, lamport, epoch, ordinal, atMs } = this.#numbers;
    const { tenant, workflow, holder, type, payload, key } = this.#names;
    const { id, control } = this.#texts;
    return {
      id: textAt(id, row),
      tenant: nameAt(tenant, row),
      workflow: nameAt(workflow, row),
      generation: generation[row]!,
      lamport: lamport[row]!,
      epoch: epoch[row]!,
      holder: nameAt(holder, row),
      ordinal: ordinal[row]!,
      atMs: atMs[row]!,
      type: nameAt(type, row),
      control: textAt(control, row),
      payload: nameAt(payload, row),
      ...(key.indexes[row]! >= 0 && { key: nameAt(key, row) }),
    };
  }
}

function nameAt({ entries, indexes }: Names, row: number): string {
  const name = entries[indexes[row]!];
  sound(name !== undefined, `row ${row} lacks a name`);
  return name;
}

function textAt({ bytes, starts, lengths }: Texts, row: number): string {
  const length = lengths[row]!;
  sound(length >= 0, `row ${row} lacks a text`);
  return bytes.toString('latin1', starts[row]!, starts[row]! + length);
}

const bytesAt = ({ bytes, starts, lengths }: Texts, row: number): Buffer =>
  bytes.subarray(starts[row]!, starts[row]! + lengths[row]!);

/** Memory for the records: a buffer for many of them, since one for each costs more than its bytes. */
class Arena {
  #buffer = Buffer.alloc(0);
  #at = 0;
  #totalBytes = 0;

  /** The header, and behind a line feed the row's payload, where it has one. */
  joined(header: string | Buffer, payload: Texts, row: number): Uint8Array {
    const payloadLength = payload.lengths[row]!;
    const hasPayload = payloadLength >= 0;
    const length = header.length + (hasPayload ? 1 + payloadLength : 0);
    this.#totalBytes += length;
    sound(this.#totalBytes <= SEGMENT_RAW_MAX_BYTES, 'its records are more than a segment may hold');
    this.#reserve(length);
    const start = this.#at;
    let at = start + header.length;
    if (typeof header === 'string') this.#buffer.write(header, start, 'latin1');
    else this.#buffer.set(header, start);
    if (hasPayload) {
      this.#buffer[at++] = LINE_FEED;
      const from = payload.starts[row]!;
      payload.bytes.copy(this.#buffer, at, from, from + payloadLength);
      at += payloadLength;
    }
    this.#at = at;
    return this.#buffer.subarray(start, at);
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#buffer.length) return;
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, length));
    this.#at = 0;
  }
}

/**
 * Owns Postgres's binary form of one-dimensional arrays: a batch of rows travels as one array per column and is unnested
 * by the statement. Measured with 19 columns and 1 KB payloads, rows per second into Postgres 15 / PGlite: binary arrays
 * 65k / 45k, arrays as text 16k / 14k, `json_to_recordset` 25k / 22k (no escaping, no parsing, no casts).
 *
 * Format: dimensions, has-nulls, element type, length, lower bound; then length and bytes of each element (array_send).
 */

const HEADER_BYTES = 20;
const TYPE = { bool: 16, int8: 20, int4: 23, text: 25, float8: 701 } as const;
const HIGH = 2 ** 32;

function header(buffer: Buffer, type: number, count: number): void {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(1, 4);
  buffer.writeInt32BE(type, 8);
  buffer.writeInt32BE(count, 12);
  buffer.writeInt32BE(1, 16);
}

/** Postgres's text holds every character but NUL; a name with a NUL must not stop a projection permanently. */
export const storable = (value: string): string => (value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value);

export function texts<R>(rows: readonly R[], get: (row: R) => string | null): Buffer {
  const values: (string | null)[] = new Array(rows.length);
  let bytes = HEADER_BYTES;
  for (let at = 0; at < rows.length; at += 1) {
    const value = get(rows[at]!);
    const text = value === null ? null : storable(value);
    values[at] = text;
    bytes += 4 + (text === null ? 0 : Buffer.byteLength(text));
  }
  const buffer = Buffer.allocUnsafe(bytes);
  header(buffer, TYPE.text, rows.length);
  let at = HEADER_BYTES;
  for (const text of values) {
    if (text === null) {
      buffer.writeInt32BE(-1, at);
      at += 4;
    } else {
      const length = buffer.write(text, at + 4);
      buffer.writeInt32BE(length, at);
      at += 4 + length;
    }
  }
  return buffer;
}

/** Encodes elements of a fixed size; an element is null where `get` returns null. */
function fixed<R>(
  rows: readonly R[],
  type: number,
  size: number,
  get: (row: R) => number | null,
  write: (buffer: Buffer, value: number, at: number) => void,
): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + rows.length * (4 + size));
  header(buffer, type, rows.length);
  let at = HEADER_BYTES;
  for (const row of rows) {
    const value = get(row);
    if (value === null) {
      buffer.writeInt32BE(-1, at);
      at += 4;
    } else {
      buffer.writeInt32BE(size, at);
      write(buffer, value, at + 4);
      at += 4 + size;
    }
  }
  return buffer.subarray(0, at);
}

function writeInt8(buffer: Buffer, value: number, at: number): void {
  const high = Math.floor(value / HIGH);
  buffer.writeInt32BE(high, at);
  buffer.writeUInt32BE(value - high * HIGH, at + 4);
}

/** Encodes safe integers. */
export const int8s = <R>(rows: readonly R[], get: (row: R) => number | null): Buffer =>
  fixed(rows, TYPE.int8, 8, get, writeInt8);

export const int4s = <R>(rows: readonly R[], get: (row: R) => number | null): Buffer =>
  fixed(rows, TYPE.int4, 4, get, (buffer, value, at) => buffer.writeInt32BE(value, at));

export const float8s = <R>(rows: readonly R[], get: (row: R) => number | null): Buffer =>
  fixed(rows, TYPE.float8, 8, get, (buffer, value, at) => buffer.writeDoubleBE(value, at));

export const bools = <R>(rows: readonly R[], get: (row: R) => boolean): Buffer =>
  fixed(
    rows,
    TYPE.bool,
    1,
    (row) => (get(row) ? 1 : 0),
    (buffer, value, at) => buffer.writeUInt8(value, at),
  );

const self = <T>(value: T): T => value;
export const textArray = (values: readonly string[]): Buffer => texts(values, self);
export const int4Array = (values: readonly number[]): Buffer => int4s(values, self);

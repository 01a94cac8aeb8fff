/**
 * Owns writing protobuf, from the end to the beginning: a message's length is known when its content is written, so nothing is measured
 * twice or moved. Fields are therefore written last to first. https://protobuf.dev/programming-guides/encoding
 */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const SLAB_BYTES = 65_536;
/** Longest varint of a number that a double holds exactly. */
const VARINT_MAX_BYTES = 10;
const ASCII_MAX_CHARS = 80;
/** What a hex digit stands for, by its code. */
const HALVES = new Uint8Array(128);
for (let half = 0; half < 16; half++) HALVES[half.toString(16).charCodeAt(0)] = half;
const [TWO_12, TWO_20, TWO_32] = [2 ** 12, 2 ** 20, 2 ** 32];

export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(SLAB_BYTES);
  /** What is written begins and ends here; from there on is what was taken. */
  #at = SLAB_BYTES;
  #end = SLAB_BYTES;

  /** Where what is written now ends: for `message`. */
  get mark(): number {
    return this.#end - this.#at;
  }

  /** The bytes since the last time; the caller's own, though many lie in one piece of memory. */
  take(): Uint8Array {
    const taken = this.#buffer.subarray(this.#at, this.#end);
    this.#end = this.#at;
    return taken;
  }

  /** Forgets what was written since the last `take`. */
  drop(): void {
    this.#at = this.#end;
  }

  /** The tag and length of a message of this field that is put behind what is written now. */
  opening(field: number, length: number): void {
    this.#varint(length);
    this.#varint(field * 8 + BYTES);
  }

  /** Makes all that was written since the mark a message of this field. */
  message(field: number, mark: number): void {
    this.opening(field, this.mark - mark);
  }

  text(field: number, text: string): void {
    if (!this.#ascii(text)) this.#varint(this.#utf8(text));
    this.#varint(field * 8 + BYTES);
  }

  /** Most texts are short and plain: written here, with their length in its one byte, they take a third of what a call into the runtime does. False: it isn't, and nothing is written. */
  #ascii(text: string): boolean {
    const { length } = text;
    if (length > ASCII_MAX_CHARS) return false;
    this.#room(length + 1);
    const buffer = this.#buffer;
    const from = this.#at - length;
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f) return false;
      buffer[from + index] = unit;
    }
    buffer[from - 1] = length;
    this.#at = from - 1;
    return true;
  }

  #utf8(text: string): number {
    // Three bytes are enough for each unit of UTF-16.
    this.#room(text.length * 3);
    const length = Buffer.byteLength(text);
    this.#at -= length;
    this.#buffer.write(text, this.#at, 'utf8');
    return length;
  }

  /** Lower-case hex digits, an even number of them. */
  hex(field: number, digits: string): void {
    const length = digits.length / 2;
    this.#room(length);
    this.#at -= length;
    const [buffer, at] = [this.#buffer, this.#at];
    for (let index = 0; index < length; index++) {
      const high = HALVES[digits.charCodeAt(index * 2)]!;
      buffer[at + index] = (high << 4) | HALVES[digits.charCodeAt(index * 2 + 1)]!;
    }
    this.#varint(length);
    this.#varint(field * 8 + BYTES);
  }

  /** A whole number, or a boolean as 0 or 1; negative ones as their two's complement in 64 bits. */
  number(field: number, value: number): void {
    if (value >= 0) this.#varint(value);
    else this.#bigVarint(BigInt.asUintN(64, BigInt(value)));
    this.#varint(field * 8 + VARINT);
  }

  double(field: number, value: number): void {
    this.#room(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
    this.#varint(field * 8 + FIXED64);
  }

  /** Nanoseconds since the Unix epoch, given as milliseconds and what is to be added to them in nanoseconds. */
  time(field: number, ms: number, addedNs = 0): void {
    this.#room(8);
    this.#at -= 8;
    // In halves that doubles hold exactly: whole milliseconds are high × 2^20 + low.
    const whole = Math.floor(ms);
    const high = Math.floor(whole / TWO_20) * 1e6;
    const low = (whole % TWO_20) * 1e6 + Math.round((ms - whole) * 1e6) + addedNs;
    const sum = (high % TWO_12) * TWO_20 + low;
    this.#fixed(sum % TWO_32, this.#at);
    this.#fixed(Math.floor(high / TWO_12) + Math.floor(sum / TWO_32), this.#at + 4);
    this.#varint(field * 8 + FIXED64);
  }

  /** Four bytes, the lowest first. */
  #fixed(value: number, at: number): void {
    const buffer = this.#buffer;
    buffer[at] = value;
    buffer[at + 1] = value >>> 8;
    buffer[at + 2] = value >>> 16;
    buffer[at + 3] = value >>> 24;
  }

  /** A whole number, not negative. */
  fixed64(field: number, value: number): void {
    this.#room(8);
    this.#at -= 8;
    this.#buffer.writeBigUInt64LE(BigInt(value), this.#at);
    this.#varint(field * 8 + FIXED64);
  }

  fixed32(field: number, value: number): void {
    this.#room(4);
    this.#at -= 4;
    this.#fixed(value, this.#at);
    this.#varint(field * 8 + FIXED32);
  }

  #varint(value: number): void {
    this.#room(VARINT_MAX_BYTES);
    if (value < 0x80) {
      this.#at -= 1;
      this.#buffer[this.#at] = value;
      return;
    }
    if (value < 0x4000) {
      this.#at -= 2;
      this.#buffer[this.#at] = (value & 0x7f) | 0x80;
      this.#buffer[this.#at + 1] = value >>> 7;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
    this.#at -= size;
    let rest = value;
    for (let index = 0; index < size - 1; index++) {
      this.#buffer[this.#at + index] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#at + size - 1] = rest;
  }

  #bigVarint(value: bigint): void {
    this.#room(VARINT_MAX_BYTES);
    const bytes: number[] = [];
    for (let rest = value; ; rest >>= 7n) {
      if (rest < 0x80n) {
        bytes.push(Number(rest));
        break;
      }
      bytes.push(Number(rest & 0x7fn) | 0x80);
    }
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  #room(bytes: number): void {
    if (this.#at >= bytes) return;
    const held = this.mark;
    const next = Buffer.allocUnsafe(Math.max(SLAB_BYTES, (held + bytes) * 2));
    this.#buffer.copy(next, next.length - held, this.#at, this.#end);
    this.#at = next.length - held;
    this.#end = next.length;
    this.#buffer = next;
  }
}

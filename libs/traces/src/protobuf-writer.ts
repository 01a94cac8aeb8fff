/**
 * Owns writing protobuf, from the end to the beginning: a message's length is known when its content is written, so nothing is measured
 * twice or moved. Fields are therefore written last to first. https://protobuf.dev/programming-guides/encoding
 */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const FIRST_BYTES = 65_536;
/** Longest varint of a number that a double holds exactly. */
const VARINT_MAX_BYTES = 10;

export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  /** What is written begins here. */
  #at = FIRST_BYTES;

  /** Where what is written now ends: for `message`. */
  get mark(): number {
    return this.#buffer.length - this.#at;
  }

  /** The bytes so far. */
  done(): Uint8Array {
    return this.#buffer.subarray(this.#at);
  }

  /** Makes all that was written since the mark a message of this field. */
  message(field: number, mark: number): void {
    this.#varint(this.mark - mark);
    this.#varint(field * 8 + BYTES);
  }

  text(field: number, text: string): void {
    // Most are ASCII; three bytes are enough for each unit of UTF-16.
    this.#room(text.length * 3);
    const length = Buffer.byteLength(text);
    this.#at -= length;
    this.#buffer.write(text, this.#at, 'utf8');
    this.#varint(length);
    this.#varint(field * 8 + BYTES);
  }

  hex(field: number, digits: string): void {
    const length = digits.length / 2;
    this.#room(length);
    this.#at -= length;
    this.#buffer.write(digits, this.#at, 'hex');
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
    const whole = Math.floor(ms);
    const nanos = BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6) + addedNs);
    this.#buffer.writeBigUInt64LE(nanos, this.#at);
    this.#varint(field * 8 + FIXED64);
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
    this.#buffer.writeUInt32LE(value, this.#at);
    this.#varint(field * 8 + FIXED32);
  }

  #varint(value: number): void {
    this.#room(VARINT_MAX_BYTES);
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
    const held = this.#buffer.length - this.#at;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, held + bytes));
    this.#buffer.copy(larger, larger.length - held, this.#at);
    this.#at = larger.length - held;
    this.#buffer = larger;
  }
}

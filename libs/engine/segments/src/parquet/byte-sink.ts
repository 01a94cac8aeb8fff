/** Owns bytes that grow at their end. */

const FIRST_BYTES = 1024;
/** Seven bits of a number at a time. */
const VARINT_BASE = 128;

export class ByteSink {
  bytes: Buffer;
  /** How many there are; what lies behind is not written yet. */
  length = 0;

  constructor(expectedBytes = FIRST_BYTES) {
    this.bytes = Buffer.allocUnsafeSlow(expectedBytes);
  }

  /** Makes room for so many more. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length + count));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  uint32(value: number): void {
    this.reserve(4);
    this.length = this.bytes.writeUInt32LE(value, this.length);
  }

  /** A whole number from 0 that can be counted. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    for (; rest >= VARINT_BASE; rest = Math.floor(rest / VARINT_BASE)) {
      this.bytes[this.length++] = (rest % VARINT_BASE) + VARINT_BASE;
    }
    this.bytes[this.length++] = rest;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Characters up to U+00FF, each a byte. */
  latin1(text: string): void {
    this.reserve(text.length);
    this.length += this.bytes.write(text, this.length, 'latin1');
  }

  written(from = 0, to = this.length): Buffer {
    return this.bytes.subarray(from, to);
  }
}

/** Owns making UUIDv7 (RFC 9562, section 5.7) from a given time and given random bytes. For people; never for order. */

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** `atMs`: milliseconds since the Unix epoch; `random`: at least 10 bytes, of which 74 bits are used. */
export function uuidv7(atMs: number, random: Uint8Array): string {
  const time = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0');
  const hex = (at: number): string => HEX[random[at]!]!;
  const versioned = HEX[0x70 | (random[0]! & 0x0f)]! + hex(1);
  const variant = HEX[0x80 | (random[2]! & 0x3f)]! + hex(3);
  const node = hex(4) + hex(5) + hex(6) + hex(7) + hex(8) + hex(9);
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-${versioned}-${variant}-${node}`;
}

/**
 * Owns a file's digest within the file: the SHA-256 of the whole file with zeros in place of the digest's own 64 digits. It distinguishes
 * damage from a newer version of the format, and detects damage on which no record depends. It doesn't stop forgers, who can recompute it:
 * the digest in the manifest does, which is stored elsewhere.
 */

import { createHash, hash } from 'node:crypto';
import { sound } from './damage.ts';
import { footerOf } from './footer.ts';
import { textKeys } from './schema.ts';

/** Replaces the digest while it is computed. */
export const NO_DIGEST = '0'.repeat(64);

const DIGEST_CHARS = NO_DIGEST.length;
/** The digest's key and the length of its text, as the footer has them. */
const BEFORE_DIGEST = Buffer.from(`${textKeys.digest}\x18${String.fromCharCode(DIGEST_CHARS)}`);

/** Writes the digest into a file without one. Throws `CorruptError` (`segment-damaged`) when the file has no place for it. */
export function seal(file: Buffer): void {
  digestIn(file).write(hash('sha256', file), 'latin1');
}

/** Throws `CorruptError` (`segment-damaged`). */
export function checkSeal(file: Buffer): void {
  const digest = digestIn(file);
  const at = digest.byteOffset - file.byteOffset;
  const whole = createHash('sha256')
    .update(file.subarray(0, at))
    .update(NO_DIGEST)
    .update(file.subarray(at + DIGEST_CHARS))
    .digest('hex');
  sound(whole === digest.toString('latin1'), 'its bytes are not those of its digest');
}

/** The footer has texts after the columns, whose names may be anything; no text can contain another's key. */
function digestIn(file: Buffer): Buffer {
  const { bytes } = footerOf(file);
  const before = bytes.lastIndexOf(BEFORE_DIGEST);
  const at = before + BEFORE_DIGEST.length;
  sound(before >= 0 && at + DIGEST_CHARS <= bytes.length, 'it has no digest');
  return bytes.subarray(at, at + DIGEST_CHARS);
}

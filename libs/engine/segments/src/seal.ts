/**
 * Owns the digest of a file within itself: the SHA-256 of the whole file with the digest's own 64 digits as zeros. By it damage is told
 * from a newer version of the format, and damage where no record depends on it is found too. It is no proof against forgers, who can take
 * it anew: that is the digest in the manifest, which lies elsewhere.
 */

import { createHash, hash } from 'node:crypto';
import { sound } from './damage.ts';
import { footerOf } from './footer.ts';
import { textKeys } from './schema.ts';

/** Stands in the digest's place while it is taken. */
export const NO_DIGEST = '0'.repeat(64);

const DIGEST_CHARS = NO_DIGEST.length;
/** The digest's key and the length of its text, as the footer has them. */
const BEFORE_DIGEST = Buffer.from(`${textKeys.digest}\x18${String.fromCharCode(DIGEST_CHARS)}`);

/** Puts the digest into a file that has none yet. Throws `CorruptError` (`segment-damaged`) when it has no place for one. */
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

/** Texts stand behind what the footer says of columns, where names of any kind may be; none of them can hold another's key. */
function digestIn(file: Buffer): Buffer {
  const { bytes } = footerOf(file);
  const before = bytes.lastIndexOf(BEFORE_DIGEST);
  const at = before + BEFORE_DIGEST.length;
  sound(before >= 0 && at + DIGEST_CHARS <= bytes.length, 'it has no digest');
  return bytes.subarray(at, at + DIGEST_CHARS);
}

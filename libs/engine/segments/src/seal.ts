/**
 * Owns the digest of a file within itself: the SHA-256 of the whole file with the digest's own 64 digits as zeros. By it damage is told
 * from a newer version of the format, and damage where no record depends on it is found too. It is no proof against forgers, who can take
 * it anew: that is the digest in the manifest, which lies elsewhere.
 */

import { createHash, hash } from 'node:crypto';
import { sound } from './damage.ts';
import { footerOf, readFooter, textsOf } from './parquet/footer.ts';
import { textKeys } from './schema.ts';

/** Stands in the digest's place while it is taken. */
export const NO_DIGEST = '0'.repeat(64);

/** Puts the digest into a file that has none yet. */
export function seal(file: Buffer): void {
  digestIn(textsOf(readFooter(footerOf(file).bytes))).write(hash('sha256', file), 'latin1');
}

/** `texts`: of the file's footer, as views of it. Throws `CorruptError` (`segment-damaged`). */
export function checkSeal(file: Buffer, texts: ReadonlyMap<string, Buffer>): void {
  const digest = digestIn(texts);
  const at = digest.byteOffset - file.byteOffset;
  const whole = createHash('sha256')
    .update(file.subarray(0, at))
    .update(NO_DIGEST)
    .update(file.subarray(at + digest.length))
    .digest('hex');
  sound(whole === digest.toString('latin1'), 'its bytes are not those of its digest');
}

function digestIn(texts: ReadonlyMap<string, Buffer>): Buffer {
  const digest = texts.get(textKeys.digest);
  sound(digest?.length === NO_DIGEST.length, 'it has no digest');
  return digest;
}

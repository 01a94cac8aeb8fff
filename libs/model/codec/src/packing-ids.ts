/**
 * Owns taking drawn ids out of a text that is about to be deflated: digests and the drawn ends of UUIDs are hex, half of which deflate
 * would keep, and which spoils its codes for all the rest. Part of packing 1: what is taken, and how, never changes.
 */

const DIGEST_MARK = '\x01';
const UUID_MARK = '\x02';
// biome-ignore lint/suspicious/noControlCharactersInRegex: no JSON has them unescaped, so hardly any record
const MARKS = /[\x01\x02]/g;
const IDS = /[0-9a-f]{64}|[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const DIGEST_BYTES = 32;
/** 3, 4 and 12 digits, and one for nothing. */
const UUID_BYTES = 10;
/** Ids looked at in one text; each is looked for in all of it. A record has a dozen. */
const LOOKED_AT_MAX = 64;

export interface WithoutIds {
  /** The text with a mark for each id. */
  readonly text: Buffer;
  /** The ids, one after the other; empty when none was taken, and then no mark is one. */
  readonly ids: Buffer;
}

/** Takes out the ids that `known`, what deflate may look back on, does not hold, nor the text itself twice. */
export function takeIds(bytes: Uint8Array, known: Buffer): WithoutIds {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = whole.toString('latin1');
  if (text.includes(DIGEST_MARK) || text.includes(UUID_MARK)) return { text: whole, ids: Buffer.alloc(0) };
  const taken: string[] = [];
  let count = 0;
  const marked = text.replace(IDS, (id, at: number) => {
    if (++count > LOOKED_AT_MAX) return id;
    if (text.indexOf(id) !== at || text.includes(id, at + id.length) || known.includes(id, 0, 'latin1')) return id;
    taken.push(id.length === 2 * DIGEST_BYTES ? id : `${id.replaceAll('-', '')}0`);
    return id.length === 2 * DIGEST_BYTES ? DIGEST_MARK : UUID_MARK;
  });
  return { text: Buffer.from(marked, 'latin1'), ids: Buffer.from(taken.join(''), 'hex') };
}

/** The text with its ids, or undefined when marks and ids don't match. */
export function putIds({ text, ids }: WithoutIds): Buffer | undefined {
  if (ids.length === 0) return text;
  let at = 0;
  const whole = text.toString('latin1').replace(MARKS, (mark) => {
    const start = at;
    at += mark === DIGEST_MARK ? DIGEST_BYTES : UUID_BYTES;
    const id = ids.toString('hex', start, at);
    return mark === DIGEST_MARK ? id : `${id.slice(0, 3)}-${id.slice(3, 7)}-${id.slice(7, 19)}`;
  });
  return at === ids.length ? Buffer.from(whole, 'latin1') : undefined;
}

/**
 * Owns removing random ids from a text before it is deflated: digests and the random ends of UUIDs are hex, which deflate halves at best,
 * and which worsens its codes for everything else. Part of packing 1: what is removed, and how, never changes.
 */

const DIGEST_MARK = '\x01';
const UUID_MARK = '\x02';
// biome-ignore lint/suspicious/noControlCharactersInRegex: no JSON has them unescaped, so hardly any record
const MARKS = /[\x01\x02]/g;
const IDS = /[0-9a-f]{64}|[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const DIGEST_BYTES = 32;
/** 19 hex digits, and one for padding. */
const UUID_BYTES = 10;
/** Ids examined in one text; each is searched for in the whole text. A record has a dozen. */
const EXAMINED_MAX_COUNT = 64;

export interface WithoutIds {
  /** The text with a mark for each id. */
  readonly text: Buffer;
  /** The ids, concatenated; empty when none was removed, and then no mark character counts as one. */
  readonly ids: Buffer;
}

/** Removes the ids that occur once in the text and not in `known`, the bytes that deflate may refer back to. */
export function takeIds(bytes: Uint8Array, known: Buffer): WithoutIds {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = whole.toString('latin1');
  if (text.includes(DIGEST_MARK) || text.includes(UUID_MARK)) return { text: whole, ids: Buffer.alloc(0) };
  const taken: string[] = [];
  let count = 0;
  const marked = text.replace(IDS, (id, at: number) => {
    if (++count > EXAMINED_MAX_COUNT) return id;
    if (text.indexOf(id) !== at || text.includes(id, at + id.length) || known.includes(id, 0, 'latin1')) return id;
    taken.push(id.length === 2 * DIGEST_BYTES ? id : `${id.replaceAll('-', '')}0`);
    return id.length === 2 * DIGEST_BYTES ? DIGEST_MARK : UUID_MARK;
  });
  return { text: Buffer.from(marked, 'latin1'), ids: Buffer.from(taken.join(''), 'hex') };
}

/** Restores the text, or returns undefined when marks and ids don't match. */
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

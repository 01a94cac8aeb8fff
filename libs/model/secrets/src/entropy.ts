/**
 * Owns which tokens look random: those that mix many kinds of characters and change between them often. Names, paths, digests, ids and
 * pictures are excluded. A digest in hexadecimal looks like a key in hexadecimal, and passes: where its name says that it is a key, the
 * patterns find it. Pure.
 */

/** Characters of a token whose entropy is judged: a shorter one may be a word, a longer one is data. */
const TOKEN_MIN_CHARS = 20;
const TOKEN_MAX_CHARS = 512;
/** Characters of a token that may have a known form: the shortest form, names aside, has this many. */
const LONG_MIN_CHARS = 15;
/** Bits a character above which a token may be random: English words joined to a name have about 3.3. */
const ENTROPY_MIN_BITS = 3.4;
/** Mean run of characters in one case or of digits, at most: names have about 5, random base62 less than 2. */
const PIECE_MAX_CHARS = 2.9;
/** Mean characters between the joints (`-`, `_`, `.`) of a random token; a name has more joints. */
const PART_MEAN_CHARS = 6;

/** Long, random and public. */
const PUBLIC: readonly RegExp[] = [
  /data:[\w.+-]{1,60}\/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,5};base64,[A-Za-z0-9+/=\s]*/g,
  /-----BEGIN (?:CERTIFICATE|PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE REQUEST|X509 CRL)-----[A-Za-z0-9+/=\s]*-----END/g,
  /(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\S{1,30}|sk-ssh-ed25519@openssh\.com)\s+AAAA[A-Za-z0-9+/=]*/g,
  /(?:sha(?:1|224|256|384|512)[-:]|(?<![A-Za-z0-9])h1:)[A-Za-z0-9+/=]{20,100}/gi,
  // Pictures and documents, by their first bytes: PNG, JPEG, GIF, WebP, SVG, PDF, ZIP, gzip.
  /(?<![A-Za-z0-9+/])(?:iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|PHN2Zy|JVBERi0|UEsDB|H4sI)[A-Za-z0-9+/=]*/g,
  // Resource names of AWS; a name never contains a secret.
  /(?<![A-Za-z0-9])arn:[a-z0-9-]{1,30}:[a-z0-9-]{1,40}:[a-z0-9-]{0,30}:\d{0,12}:[^\s"'<>,;]{1,500}/g,
  // The path of an address names a document; its query is searched.
  /(?<![A-Za-z0-9+.-])(?:https?|git|ssh|file|s3|gs):\/\/[^\s?#"'<>]{1,2000}/gi,
];

/** Each public form contains one of these. Three tests take a fifth of the time of one. */
const mayBePublic = (text: string): boolean =>
  text.includes(':') ||
  /-----BEGIN |AAAA|iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|PHN2Zy|JVBERi0|UEsDB|H4sI/.test(text) ||
  /sha(?:1|224|256|384|512)-/i.test(text);

/** Prefixes of ids that services issue; their keys and secrets have other prefixes. */
const ID_PREFIXES = [
  // Stripe
  'price|prod|cus|ch|pi|py|pm|sub|sub_sched|si|in|ii|il|evt|acct|txn|po|re|seti|src|card|ba|tr|fee|dp|du|cs|cs_test|cs_live|plan|promo|plink|we|mandate|txr|qt',
  // Providers of models
  'chatcmpl|cmpl|call|toolu|srvtoolu|msg|msgbatch|req|resp|rs|fc|ws|run|thread|asst|file|step|vs|batch|ftjob|gen|modr|item|conv|container',
  // Accounts, projects and deployments of many
  'user|org|team|proj|prj|dpl|inv',
].join('|');

/** Parts of tokens that are ids or digests, at any place. */
const IDS: readonly RegExp[] = [
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi,
  /(?<![A-Za-z0-9])[0-9a-f]{7,}(?![A-Za-z0-9])/gi,
  /(?<![A-Za-z0-9])[0-7](?:[0-9A-HJKMNP-TV-Z]{25}|[0-9a-hjkmnp-tv-z]{25})(?![A-Za-z0-9])/g,
  new RegExp(`(?<![A-Za-z0-9_-])(?:${ID_PREFIXES})[_-][A-Za-z0-9]{8,80}(?![A-Za-z0-9])`, 'g'),
  // Twilio
  /(?<![A-Za-z0-9])[A-Z]{2}[0-9a-f]{32}(?![A-Za-z0-9])/g,
  // AWS: users, roles, groups, policies, certificates; hosted zones; databases
  /(?<![A-Za-z0-9])A(?:IDA|ROA|GPA|NPA|NVA|PKA|SCA|IPA)[A-Z0-9]{16,18}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])Z[0-9][A-Z0-9]{10,30}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])(?:db|cluster)-[A-Z0-9]{26}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])\d{4}-?\d{2}-?\d{2}T\d{2}-?\d{2}-?\d{2}(?:\d{1,6})?Z?(?![A-Za-z0-9])/g,
];

const TOKEN = new RegExp(`[A-Za-z0-9+/_=.~-]{${TOKEN_MIN_CHARS},}`, 'g');
/** The rest of a token, from the current index. */
const IN_ROW = /[A-Za-z0-9+/_=.~-]*/y;
/** An id or a digest in hexadecimal and nothing else: most long tokens of most data. */
const PLAIN_ID = /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{20,})$/i;

/** Which character codes occur in tokens. */
const IN_TOKEN = new Uint8Array(128);
for (let code = 0; code < IN_TOKEN.length; code += 1) {
  IN_TOKEN[code] = /[A-Za-z0-9+/_=.~-]/.test(String.fromCharCode(code)) ? 1 : 0;
}

/**
 * The tokens of at least `LONG_MIN_CHARS` characters, except those that are just an id or a digest. Most texts are words, so only every
 * 15th character is tested, and its neighbours where it belongs to a token; every long token covers one.
 */
export function longTokens(text: string): readonly string[] {
  const tokens: string[] = [];
  for (let at = LONG_MIN_CHARS - 1; at < text.length; at += LONG_MIN_CHARS) {
    if (!isInToken(text, at)) continue;
    let start = at;
    while (isInToken(text, start - 1)) start -= 1;
    IN_ROW.lastIndex = at;
    IN_ROW.test(text);
    const end = IN_ROW.lastIndex;
    at = end;
    if (end - start < LONG_MIN_CHARS) continue;
    const token = text.slice(start, end);
    if (!PLAIN_ID.test(token)) tokens.push(token);
  }
  return tokens;
}

function isInToken(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < IN_TOKEN.length && IN_TOKEN[code] === 1;
}

/** Where random tokens are, as `[start, end)`. `tokens`: the long ones of the text. */
export function randomTokens(text: string, tokens = longTokens(text)): readonly (readonly [number, number])[] {
  // A token that is too long may combine a random part with a public one.
  const mayBe = (token: string): boolean =>
    token.length > TOKEN_MAX_CHARS ? mayBePublic(text) : token.length >= TOKEN_MIN_CHARS && isRandom(token);
  if (!tokens.some(mayBe)) return [];
  let rest = text;
  // Replaced by the same number of spaces, so that positions stay.
  for (const form of PUBLIC) rest = rest.replace(form, (found) => ' '.repeat(found.length));
  const found: [number, number][] = [];
  for (const match of rest.matchAll(TOKEN)) {
    const token = match[0];
    if (token.length <= TOKEN_MAX_CHARS && isRandom(token)) found.push([match.index, match.index + token.length]);
  }
  return found;
}

function isRandom(token: string): boolean {
  if (!isMixed(token) || isNameOnly(token)) return false;
  let rest = token;
  for (const form of IDS) rest = rest.replace(form, '-');
  if (rest.includes('/') && isPath(rest)) return false;
  // The joints between words of a name; a random token has few of them, a name has many.
  const parts = rest.split(/[._~=-]+/).filter((part) => part !== '');
  if (parts.some((part) => part.length >= TOKEN_MIN_CHARS && looksRandom(part))) return true;
  const odd = parts.filter((part) => !isWord(part));
  const joined = odd.join('');
  return joined.length >= TOKEN_MIN_CHARS && joined.length >= odd.length * PART_MEAN_CHARS && looksRandom(joined);
}

const isWord = (part: string): boolean => /^[A-Za-z]{2,}$/.test(part) && meanPiece(part) >= PIECE_MAX_CHARS;

/** Whether most of its parts are words. */
function isPath(token: string): boolean {
  const parts = token.split('/').filter((part) => part !== '');
  const words = parts.filter((part) => meanPiece(part) >= PIECE_MAX_CHARS || part.length <= 2);
  return words.length * 3 >= parts.length * 2 && parts.some((part) => meanPiece(part) >= PIECE_MAX_CHARS);
}

/** `someWordsTogether`: words without a digit. */
const isNameOnly = (token: string): boolean => /^[A-Za-z]+$/.test(token) && meanPiece(token) >= PIECE_MAX_CHARS;

/** Letters with digits, or in both cases. */
const isMixed = (text: string): boolean =>
  /\d/.test(text) ? /[A-Za-z]/.test(text) : /[a-z]/.test(text) && /[A-Z]/.test(text);

function looksRandom(text: string): boolean {
  if (!isMixed(text)) return false;
  return meanPiece(text) < PIECE_MAX_CHARS && entropyBits(text) >= ENTROPY_MIN_BITS;
}

/** Mean length of words, of numbers, and of runs of capitals. */
function meanPiece(text: string): number {
  const pieces = text.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+/g) ?? [];
  const letters = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return pieces.length === 0 ? 0 : letters / pieces.length;
}

/** Shannon's entropy, in bits a character. */
function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

// Owns what a secret looks like: known key formats, names that hold credentials, values with the randomness of one; and the
// masking of all of these. Everything that leaves the audit as text (evidence, messages, specifiers) goes through `Redactor`.
// Masked text keeps a format's public prefix at most; no character of the secret part is ever shown.

export type KeyFormat = { name: string; pattern: RegExp; prefix: number };

/** Formats that are recognised wherever they stand. `prefix`: leading characters that are the same for all such keys. */
const FORMATS: readonly KeyFormat[] = [
  { name: 'AWS access key id', pattern: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, prefix: 4 },
  { name: 'GitHub token', pattern: /\bgh[pousr]_[0-9A-Za-z]{36,}\b/g, prefix: 4 },
  { name: 'GitHub fine-grained token', pattern: /\bgithub_pat_[0-9A-Za-z_]{22,}\b/g, prefix: 11 },
  { name: 'GitLab token', pattern: /\bglpat-[0-9A-Za-z_-]{20,}/g, prefix: 6 },
  { name: 'npm token', pattern: /\bnpm_[0-9A-Za-z]{36}\b/g, prefix: 4 },
  { name: 'Slack token', pattern: /\bxox[abprs]-[0-9A-Za-z-]{10,}/g, prefix: 5 },
  { name: 'Stripe key', pattern: /\b[sr]k_live_[0-9A-Za-z]{16,}\b/g, prefix: 8 },
  { name: 'Google API key', pattern: /\bAIza[0-9A-Za-z_-]{35}/g, prefix: 4 },
  { name: 'SendGrid key', pattern: /\bSG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}/g, prefix: 3 },
  { name: 'model provider key', pattern: /\bsk-(?:ant-|proj-|svcacct-)?[0-9A-Za-z_-]{20,}/g, prefix: 3 },
  {
    name: 'JSON web token',
    pattern: /(?<![0-9A-Za-z_-])eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{16,}/g,
    prefix: 3,
  },
];
/** One test that is false for nearly every file, so that most files cost one pass. */
const ANY_FORMAT =
  /AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|npm_|xox[abprs]-|k_live_|AIza|\bSG\.|\bsk-|eyJ|PRIVATE KEY|:\/\/[^\s/:@'"`]+:[^\s/@'"`]+@/;

const PRIVATE_KEY = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----/g;
const PRIVATE_KEY_BODY = /^(?:\\n|\\r|\s|['"`+,])*[0-9A-Za-z+/=]{20,}/;
const URL_PASSWORD = /(:\/\/[^\s/:@'"`]+:)([^\s/@'"`]+)(@)/g;
const ASSIGNED_SECRET =
  /((?:password|passwd|passphrase|secret|token|api[_-]?key|credential)s?["']?\s{0,20}(?:=|:|\s)\s{0,20}["'`]?)([^\s"'`,;)}]+)/gi;
const LONG_WORD = /[0-9A-Za-z+/_=-]{20,}/g;

export type KnownSecret = { name: string; offset: number; text: string; certain: boolean };

/** Secrets of known formats in a text, in order. `certain` is false for a private key's header without a body. */
export function knownSecrets(text: string): KnownSecret[] {
  if (!ANY_FORMAT.test(text)) return [];
  const found: KnownSecret[] = [];
  for (const { name, pattern } of FORMATS) {
    for (const match of text.matchAll(pattern)) {
      if (looksGenerated(match[0]) && !isPlaceholder(match[0])) {
        found.push({ name, offset: match.index, text: match[0], certain: true });
      }
    }
  }
  for (const match of text.matchAll(PRIVATE_KEY)) {
    const after = text.slice(match.index + match[0].length, match.index + match[0].length + 200);
    found.push({ name: 'private key', offset: match.index, text: match[0], certain: PRIVATE_KEY_BODY.test(after) });
  }
  for (const match of text.matchAll(URL_PASSWORD)) {
    const password = match[2]!;
    const sameAsUser = match[1] === `://${password}:`;
    if (password.length < 6 || sameAsUser || isPlaceholder(password) || /^[$%{<]/.test(password)) continue;
    found.push({ name: 'password in a URL', offset: match.index + match[1]!.length, text: password, certain: true });
  }
  return found.sort((a, b) => a.offset - b.offset);
}

/** Words of an identifier: `dbPassword`, `API_KEY`, `x-auth-token` alike. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

const SECRET_WORDS = new Set(
  'password passwd pwd pass passphrase secret token credential credentials apikey authtoken accesskey secretkey'.split(
    ' ',
  ),
);
const SECRET_PAIRS =
  /(?:^| )(?:api|access|secret|private|auth|signing|encryption|client|master|account|shared|bearer|session) (?:key|secret|token)$/;
/** Words that may follow without changing what the name holds. */
const NEUTRAL_WORDS = new Set(
  'value string text default prod production dev development staging live test env raw key 1 2'.split(' '),
);

export type NameKind = 'password' | 'key' | 'none';

/** Whether a name says that it holds a credential: the sensitive word must be its last ("tokenType" holds a type). */
export function credentialName(name: string): NameKind {
  const words = wordsOf(name);
  if (SECRET_PAIRS.test(words.join(' '))) return 'key';
  let last = words.length - 1;
  while (last > 0 && NEUTRAL_WORDS.has(words[last]!)) last--;
  const word = words[last];
  if (word === undefined || !SECRET_WORDS.has(word)) return 'none';
  return word.startsWith('pass') || word === 'pwd' ? 'password' : 'key';
}

const PLACEHOLDER =
  /example|placeholder|changeme|change[-_ ]me|replace|insert|your|dummy|fake|sample|mock|redacted|todo|xxxx|\*\*\*|\.\.\.|<|>|\$\{|\{\{|%[sd(]|lorem|foobar|deadbeef|undefined|notasecret|not-a-secret|1234567|abcdef/i;
const TEST_WORDS =
  /^(?:my|the|test|super|some|top|a|db|root|user|admin|guest|demo|default|old|new|wrong|bad|good|valid|invalid|correct|hunter|letmein|qwerty|welcome|passw(?:or|0r)?d|pass|pwd|secret|token|key|api|postgres|mysql|redis|mongo|minio|rabbitmq|foo|bar|baz|qux|hello|world|abc|[\W_\d])+$/i;

/** Text that stands in for a secret rather than being one. */
export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text) || TEST_WORDS.test(text) || /^(.)\1*$/.test(text);
}

/** Whether a value given to such a name could be a real credential: random enough, and no word, path, address or sentence. */
export function isCredentialValue(text: string, kind: NameKind): boolean {
  const minChars = kind === 'password' ? 8 : 16;
  if (text.length < minChars || text.length > 4_096 || /\s/.test(text)) return false;
  if (isPlaceholder(text)) return false;
  if (/^(?:https?:|wss?:|file:|data:|urn:|[./~#@$]|--|\w+:\/\/)/.test(text)) return false;
  if (/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(text)) return false; // the name of an environment variable
  if (/^[A-Za-z]+\d{0,2}$/.test(text) && !hasMixedCase(text)) return false; // one word
  if (/^[A-Za-z]+\d?(?:[-_.:/][A-Za-z]+\d?)*$/.test(text) && !looksGenerated(text)) return false; // words joined
  if (/[()[\]{}]/.test(text) && /[\\^$|?*+]/.test(text)) return false; // a regular expression
  if (kind === 'key' && !/\d/.test(text)) return false; // keys are drawn from alphabets with digits
  const classes = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9]/].filter((pattern) => pattern.test(text)).length;
  if (classes < 2) return false;
  return entropyBits(text) >= (kind === 'password' ? 2.5 : 3);
}

function hasMixedCase(text: string): boolean {
  return text.length >= 20 && /[a-z][A-Z].*[a-z][A-Z].*[a-z][A-Z]/.test(text) && entropyBits(text) >= 4;
}

/** Has the look of random characters: a digit, and many different ones. */
function looksGenerated(text: string): boolean {
  return /\d/.test(text) && entropyBits(text) >= 3;
}

/** Shannon entropy in bits per character. */
export function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const MASK = '[masked]';

type Range = { start: number; end: number };

/** Masks secrets in any text of one file; `learn` adds values that only their context gives away. */
export class Redactor {
  readonly #values = new Set<string>();

  learn(value: string): void {
    if (value.length >= 4) this.#values.add(value);
  }

  /** Masks what is certain: values learnt from their context, known formats, passwords in addresses. */
  redactKnown(text: string): string {
    return maskRanges(text, this.#knownRanges(text));
  }

  /** Masks as well what merely might be one: values beside a telling name, long random-looking words. */
  redact(text: string): string {
    const ranges = this.#knownRanges(text);
    for (const match of text.matchAll(ASSIGNED_SECRET)) {
      if (isCredentialValue(match[2]!, 'password')) ranges.push(rangeOf(match, match[1]!.length));
    }
    for (const match of text.matchAll(LONG_WORD)) if (looksRandom(match[0])) ranges.push(rangeOf(match, 0));
    return maskRanges(text, ranges);
  }

  /** All are found in the text as it is: masked one after another, one could hide the end of another. */
  #knownRanges(text: string): Range[] {
    const ranges: Range[] = [];
    for (const value of this.#values) {
      for (let start = text.indexOf(value); start >= 0; start = text.indexOf(value, start + 1)) {
        ranges.push({ start, end: start + value.length });
      }
    }
    for (const { pattern, prefix } of FORMATS) {
      for (const match of text.matchAll(pattern)) ranges.push(rangeOf(match, prefix));
    }
    for (const match of text.matchAll(PRIVATE_KEY)) {
      ranges.push({ start: match.index + match[0].length, end: text.length });
    }
    for (const match of text.matchAll(URL_PASSWORD)) {
      const start = match.index + match[1]!.length;
      ranges.push({ start, end: start + match[2]!.length });
    }
    return ranges;
  }
}

function rangeOf(match: RegExpExecArray, skip: number): Range {
  return { start: match.index + skip, end: match.index + match[0].length };
}

/** Ranges that overlap or touch become one mask. */
function maskRanges(text: string, ranges: Range[]): string {
  let masked = '';
  let done = 0;
  let maskEnd = -1;
  for (const { start, end } of ranges.sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (end <= start || end <= maskEnd) continue;
    if (start > maskEnd) masked += text.slice(done, start) + MASK;
    maskEnd = end;
    done = end;
  }
  return masked + text.slice(done);
}

function looksRandom(word: string): boolean {
  return /[a-z]/.test(word) && /[A-Z]/.test(word) && looksGenerated(word) && entropyBits(word) >= 3.8;
}

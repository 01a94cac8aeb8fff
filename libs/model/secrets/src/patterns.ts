/**
 * Owns the forms of well-known secrets. Every repetition that could start anywhere is bounded, so that the search takes time linear in any
 * text (test/patterns). Issuers publish these forms for scanners; the names are ours. Pure.
 */

/** Characters of a password that only its name declares. */
const NAMED_MIN_CHARS = 6;
/** Characters of a value with a digit after the name of a password. */
const PIN_MIN_CHARS = 4;
/** Characters of a value with letters and digits after the name of a token. */
const TOKEN_NAMED_MIN_CHARS = 8;
/** Characters at the end of a name that decide whether its value is a secret: the longest such word is shorter. */
const NAME_END_CHARS = 32;

export interface Pattern {
  readonly kind: string;
  /** Global. The first group is the secret if there is one, otherwise the whole match. */
  readonly form: RegExp;
  /** Whether a match is a secret; default: it is. */
  readonly counts?: (secret: string) => boolean;
  /** A cheap test that every text with such a secret passes and most other texts fail. */
  readonly hint: Hint;
}

/** A text to search for; or `long-token`: the match lies within `LONG_MIN_CHARS` consecutive characters of a token. */
export type Hint = HintForm | 'long-token';

export interface HintForm {
  readonly form: RegExp;
  /** The text must match `NAMES` as well. */
  readonly isOfName?: true;
}

/** Each form of a `long-token` contains one of these. */
export const SIGN_OF_LONG = /[_.-]|A[KSBC][IC]A|AIza|dapi/;

/** Most texts contain none of these words, which is a quick test. */
export const NAMES = /pass|pwd|secret|token|key|credential|bearer|authorization/i;

/** `$NAME`, `<your key>`, `***`, `/a/path`, `process.env.KEY`, `readKey()`: a placeholder for a secret. */
export const isPlaceholder = (text: string): boolean =>
  /^(?:[$%<{[(-].*|[*x•.…_-]+|null|none|undefined|true|false|redacted|masked|hidden|example|placeholder|required|optional|missing|password|passwd|secret|token)$/i.test(
    text,
  ) ||
  /^(?:your|my|the)[-_ ]/i.test(text) ||
  /^[~.]{0,2}\/[a-z0-9._/-]*$/.test(text) ||
  /^(?:vault|env|file|op|secret|ref|arn|keychain):/i.test(text) ||
  /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+[;,)]*$/.test(text) ||
  /^[A-Za-z_$][\w$.]*[([]/.test(text);

const isMixed = (text: string): boolean => /\d/.test(text) && /[A-Za-z]/.test(text);
/** Without the punctuation of the surrounding text. */
const withoutPunctuation = (text: string): string => text.replace(/(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/, '');
const isGiven = (text: string, minChars = NAMED_MIN_CHARS): boolean =>
  text.length >= minChars && !isPlaceholder(text) && !isPlaceholder(withoutPunctuation(text));
/** A short one must have a digit, or it is a word. */
const isPassword = (text: string): boolean => isGiven(text, /\d/.test(text) ? PIN_MIN_CHARS : NAMED_MIN_CHARS);
/** How passwords are stored, in a sentence about it: `base64-encoded`. */
const isAlgorithm = (text: string): boolean =>
  /^(?:base\d|sha-?\d|md\d|utf-?\d|rot\d|argon\d|pbkdf\d|aes-?\d|rsa-?\d|crc\d|x?\d+[- ]?(?:bits?|chars?|characters?)\b)/i.test(
    text,
  );
const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}/.test(text);

const PASSWORD =
  '(?:pass(?:word|wd|phrase)|passwd|pwd|client[_-]?secret|secret[_-]?(?:access[_-]?)?key|account[_-]?key)';
const TOKEN =
  '(?:secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|private[_-]?key|credentials?)';
/** Unambiguous names: even a number after them is a key. */
const CLEAR =
  '(?:(?:api|access|auth|private|secret|signing|encryption)[_-]?key|(?:auth|access|refresh|bearer|session)[_-]?token)';
const BEFORE = '(?<![A-Za-z])';
/** Tokens that request the next page. */
const PAGING = '(?:next|page|continuation|cursor|sync)';
const VALUE = '(?:"([^"\\n]{1,500})"|\'([^\'\\n]{1,500})\'|([^\\s"\',;&|]{1,500}))';

const PASSWORD_HINT: HintForm = { form: new RegExp(PASSWORD, 'i'), isOfName: true };
const TOKEN_HINT: HintForm = { form: new RegExp(`${TOKEN}["']?\\s{0,5}[:=]`, 'i'), isOfName: true };
const BEARER_HINT: HintForm = { form: /bearer|authorization/i, isOfName: true };
const ADDRESS_HINT: HintForm = { form: /:\/\/[^\s:/?#@"']{0,200}:[^\s/?#"']{1,300}@/ };

const SECRET_NAME = new RegExp(`(?:${PASSWORD}|${TOKEN})$`, 'i');
const PASSWORD_NAME = new RegExp(`${PASSWORD}$`, 'i');
const CLEAR_NAME = new RegExp(`(?:${PASSWORD}|${CLEAR})$`, 'i');
const TOKEN_NAME = /token$/i;
const PAGING_NAME = new RegExp(`${PAGING}[_-]?token$`, 'i');

/** What the name of a property or variable says about its value. */
export interface JudgedName {
  readonly isSecret: boolean;
  readonly isPassword: boolean;
  /** The name is unambiguous: even a number is a key. */
  readonly isClear: boolean;
  /** `token` may also be a word of a model's answer: a secret one has letters and digits. */
  readonly isToken: boolean;
}

/** Cached by name, since a name may have many values. */
export function judgeName(name: string): JudgedName {
  const end = name.slice(-NAME_END_CHARS);
  return {
    isSecret: SECRET_NAME.test(end) && !PAGING_NAME.test(end),
    isPassword: PASSWORD_NAME.test(end),
    isClear: CLEAR_NAME.test(end),
    isToken: TOKEN_NAME.test(end),
  };
}

/** `{"db_password": "…"}`: the name alone decides. A text of several words explains, and is no secret. */
export function isNamedSecret(name: JudgedName, value: string | number): boolean {
  if (typeof value === 'number') return name.isClear && String(value).length >= NAMED_MIN_CHARS;
  if (!name.isSecret || /\s/.test(value) || isPlaceholder(value)) return false;
  if (name.isToken && !name.isClear) return value.length >= TOKEN_NAMED_MIN_CHARS && isMixed(value);
  return value.length >= NAMED_MIN_CHARS || (name.isPassword && isPassword(value));
}

export const PATTERNS: readonly Pattern[] = [
  {
    kind: 'private-key',
    hint: { form: /-----BEGIN / },
    form: /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g,
  },
  { kind: 'private-key', hint: 'long-token', form: /AGE-SECRET-KEY-1[0-9A-Z]{50,70}/g },
  {
    kind: 'aws-access-key',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])/g,
  },
  // Tidemark's own: tmk_, the key's id, its secret.
  { kind: 'tidemark-key', hint: 'long-token', form: /(?<![A-Za-z0-9])tmk_[a-z2-7]{16}_[a-z2-7]{52}(?![A-Za-z0-9])/g },
  {
    kind: 'github-token',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})/g,
  },
  {
    kind: 'gitlab-token',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9])gl(?:pat|dt|rt|ptt|cbt|soat|oas|ft|imt|agent)-[A-Za-z0-9_-]{20,255}/g,
  },
  {
    kind: 'slack-token',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}/g,
    counts: isMixed,
  },
  { kind: 'webhook', hint: 'long-token', form: /hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{20,200}/g },
  {
    kind: 'webhook',
    hint: 'long-token',
    form: /discord(?:app)?\.com\/api\/webhooks\/\d{10,30}\/[A-Za-z0-9_-]{30,100}/g,
  },
  {
    kind: 'stripe-key',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9])(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,255})/g,
  },
  {
    kind: 'model-provider-key',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,255}/g,
    counts: isMixed,
  },
  {
    kind: 'google-key',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,40}|ya29\.[A-Za-z0-9_-]{20,500})/g,
  },
  { kind: 'npm-token', hint: 'long-token', form: /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}/g },
  { kind: 'pypi-token', hint: 'long-token', form: /(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{50,500}/g },
  { kind: 'hugging-face-token', hint: 'long-token', form: /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,60}/g },
  { kind: 'sendgrid-key', hint: 'long-token', form: /(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}/g },
  { kind: 'service-token', hint: 'long-token', form: /(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}/g },
  { kind: 'service-token', hint: 'long-token', form: /(?<![A-Za-z0-9])dapi[a-f0-9]{32}/g },
  { kind: 'service-token', hint: 'long-token', form: /(?<![A-Za-z0-9])shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}/g },
  { kind: 'service-token', hint: 'long-token', form: /(?<![A-Za-z0-9])hv[sb]\.[A-Za-z0-9_-]{20,300}/g },
  { kind: 'service-token', hint: { form: /:AA/ }, form: /(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}/g },
  {
    kind: 'jwt',
    hint: 'long-token',
    form: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{6,2000}/g,
  },
  {
    kind: 'connection-string',
    hint: ADDRESS_HINT,
    form: /(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}:\/\/[^\s:/?#@"']{0,200}:([^\s/?#"']{1,300})@[^\s@]/g,
    counts: (secret) => !isPlaceholder(secret),
  },
  {
    kind: 'authorization-header',
    hint: BEARER_HINT,
    form: /authorization["']?\s{0,5}[:=]\s{0,5}["']?(?:bearer|basic|token)\s{1,5}([A-Za-z0-9._~+/=-]{8,2000})/gi,
    counts: isGiven,
  },
  {
    kind: 'authorization-header',
    hint: BEARER_HINT,
    form: /(?<![A-Za-z])bearer\s{1,5}([A-Za-z0-9._~+/=-]{16,2000})/gi,
    counts: (secret) => isMixed(secret) && isGiven(secret),
  },
  // After `=` any value counts; after `:` it may be prose (`password: required`), unless it is quoted or looks generated.
  {
    kind: 'password',
    hint: PASSWORD_HINT,
    form: new RegExp(`${PASSWORD}["']?\\s{0,5}=\\s{0,5}${VALUE}`, 'gi'),
    counts: isPassword,
  },
  {
    kind: 'password',
    hint: PASSWORD_HINT,
    form: new RegExp(`${PASSWORD}["']?\\s{0,5}:\\s{0,5}${VALUE}`, 'gi'),
    counts: (secret) => isPassword(secret) && /[^A-Za-z\s]/.test(secret),
  },
  {
    kind: 'password',
    hint: PASSWORD_HINT,
    form: new RegExp(
      `${PASSWORD}\\s{1,5}(?:is|was|to)\\s{1,5}(?:"([^"\\s]{6,200})"|'([^'\\s]{6,200})'|([^\\s"',;]{6,200}))`,
      'gi',
    ),
    counts: (secret) => isMixed(secret) && isGiven(secret) && !isAlgorithm(secret),
  },
  {
    kind: 'token',
    hint: TOKEN_HINT,
    form: new RegExp(
      `${BEFORE}(?<!${PAGING}[_-])${TOKEN}(?<!arn:\\S{1,120}:secret)["']?\\s{0,5}[:=]\\s{0,5}${VALUE}`,
      'gi',
    ),
    counts: (secret) =>
      isGiven(secret) && secret.length >= TOKEN_NAMED_MIN_CHARS && isMixed(secret) && !/\s/.test(secret),
  },
  {
    kind: 'token',
    hint: TOKEN_HINT,
    form: new RegExp(`${BEFORE}${CLEAR}["']?\\s{0,5}[:=]\\s{0,5}${VALUE}`, 'gi'),
    counts: (secret) =>
      isGiven(secret) && /\d/.test(secret) && !/\s/.test(secret) && !isDate(secret) && !isAlgorithm(secret),
  },
];

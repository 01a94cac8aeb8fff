/** Owns what Tidemark does at each fault of a provider: the table that runs are held against, and that docs/prompts.md shows. */

import type { Outcome } from './fault-runs.ts';
import { FAULTS, type Fault } from './judge.ts';

/** What the provider does, in the words of the page. */
const WORDS: Readonly<Record<Fault, string>> = {
  'rate-limited': '429',
  'rate-limited-with-wait': '429 that says when to come back',
  unavailable: '503, 529',
  'context-length': '400 or 413: the prompt is too long',
  'error-in-body': '200 with an error as body, or in the stream',
  'cut-in-tool-call': 'the connection breaks in a tool call',
  'usage-absent': 'no usage is reported',
  refusal: 'the model refuses',
  'content-filter': 'a filter stops the answer',
  empty: 'an empty answer',
};

interface Expected {
  /** Families, or `family/whole`, `family/streamed`, for which it holds; absent: all others. */
  readonly of?: readonly string[];
  /** The code of the failed attempts; null: the answer is recorded. */
  readonly code: string | null;
  /** Why the recorded answer ended. */
  readonly finish: string | null;
  /** What each such call costs a budget. */
  readonly paid: 'nothing' | 'reported' | 'estimated' | 'unknown';
  readonly run: keyof typeof RUNS;
}

/** What the run does, and after how many requests it ends where the provider fails six times. */
const RUNS = {
  goes: { words: 'continues', requests: 1, end: 'completed' },
  waits: { words: 'tries again for a day', requests: 7, end: 'completed' },
  tries: { words: 'tries 5 times, then asks a person', requests: 5, end: 'parked' },
  asks: { words: 'asks a person', requests: 1, end: 'parked' },
} as const;

const PAID: Readonly<Record<Expected['paid'], string>> = {
  nothing: 'nothing',
  reported: 'what it reports',
  estimated: 'what is estimated',
  unknown: 'unknown',
};

const answered = (finish: string, paid: Expected['paid'] = 'reported'): Expected => ({
  ...{ code: null, finish, paid, run: 'goes' },
});
const failed = (code: string, paid: Expected['paid'], run: Expected['run']): Expected => ({
  ...{ code, finish: null, paid, run },
});

/** Families whose packages take no answer without usage. */
const USAGE_NEEDED = ['anthropic/whole', 'mistral/whole', 'bedrock/whole'];

export const TABLE: Readonly<Record<Fault, readonly Expected[]>> = {
  'rate-limited': [failed('model-busy', 'nothing', 'waits')],
  'rate-limited-with-wait': [failed('model-busy', 'nothing', 'waits')],
  unavailable: [
    { of: ['mistral', 'bedrock', 'openai-compatible'], ...failed('model-unavailable', 'unknown', 'waits') },
    failed('model-busy', 'nothing', 'waits'),
  ],
  'context-length': [failed('prompt-too-long', 'nothing', 'asks')],
  'error-in-body': [
    { of: ['anthropic'], ...failed('model-busy', 'nothing', 'waits') },
    { of: ['bedrock/whole'], ...failed('model-answer-malformed', 'unknown', 'tries') },
    failed('model-unavailable', 'unknown', 'tries'),
  ],
  'cut-in-tool-call': [
    { of: ['whole'], ...failed('model-answer-malformed', 'unknown', 'waits') },
    failed('model-stream-broken', 'unknown', 'waits'),
  ],
  'usage-absent': [
    { of: USAGE_NEEDED, ...failed('model-answer-malformed', 'unknown', 'tries') },
    { of: ['anthropic/streamed'], ...failed('model-unavailable', 'unknown', 'tries') },
    answered('stop', 'estimated'),
  ],
  refusal: [{ of: ['mistral'], ...answered('stop') }, answered('content-filter')],
  'content-filter': [
    { of: ['mistral'], ...failed('model-stream-broken', 'reported', 'tries') },
    answered('content-filter'),
  ],
  empty: [failed('answer-empty', 'reported', 'tries')],
};

/** What is expected of a case by its name, `fault.family.whole`. */
export function expectedOf(name: string): Expected {
  const [fault = '', family = '', how = ''] = name.split('.');
  const rows = TABLE[fault as Fault];
  return rows.find(
    ({ of }) => of === undefined || of.some((each) => [family, how, `${family}/${how}`].includes(each)),
  )!;
}

/** Tokens that each judge reports of an answer. */
const REPORTED_TOKENS = 120;

/** The same of what happened, as far as the table says it. */
export function happened(outcome: Outcome) {
  const { code, finish, requests, end } = outcome;
  const run = Object.entries(RUNS).find(([, each]) => each.requests === requests && each.end === end)?.[0];
  return {
    code,
    finish: code === null ? finish : null,
    paid: paidFor(outcome),
    run: run ?? `${requests} requests, ${end}`,
  };
}

function paidFor({ code, end, tokens, estimatedTokens, unknownTokens }: Outcome): Expected['paid'] {
  if (unknownTokens > 0) return 'unknown';
  if (estimatedTokens > 0) return 'estimated';
  // Besides the answer that came at last.
  const own = code !== null && end === 'completed' ? tokens - REPORTED_TOKENS : tokens;
  return own > 0 ? 'reported' : 'nothing';
}

/** The rows of the page: in each cell what holds for most, then for whom something else does. */
export const pageRows = (): readonly string[] =>
  FAULTS.map((fault) => {
    const rows = TABLE[fault];
    const cell = (told: (row: Expected) => string): string => {
      const usual = told(rows.at(-1)!);
      const others = Map.groupBy(
        rows.filter((row) => told(row) !== usual),
        told,
      );
      return [usual, ...[...others].map(([text, of]) => `${of.flatMap((row) => row.of!).join(', ')}: ${text}`)].join(
        '; ',
      );
    };
    const recorded = ({ code, finish }: Expected): string =>
      code === null ? `its answer, \`${finish}\`` : `\`${code}\``;
    return `| ${WORDS[fault]} | ${cell(recorded)} | ${cell(({ paid }) => PAID[paid])} | ${cell(({ run }) => RUNS[run].words)} |`;
  });

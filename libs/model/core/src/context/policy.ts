/**
 * Owns the policy by which bundles of one type are assembled. A policy is data that a workflow's author sets and that the digest of its
 * definition covers. After `checkPolicy` it has a share for every lane, shares that add up to 1, and a trim order of all lanes.
 */

import { InvalidError } from '../errors.ts';

/** Entries of the trace that a bundle shows singly; older ones are counted by step. */
const TRACE_ENTRIES_DEFAULT = 10;

/** The parts of a bundle that may be trimmed. */
export const LANES = ['messages', 'tool_results', 'trace', 'working_memory', 'continuation', 'user_context'] as const;
export type Lane = (typeof LANES)[number];

export interface SummaryPolicy {
  /** Tokens of messages, calls and results without a summary, above which the older ones are summarised. */
  readonly thresholdTokens: number;
  /** Tokens of the newest messages that are never summarised. Less than the threshold. */
  readonly keepTokens: number;
  readonly by: 'model' | 'rule';
}

export interface BundlePolicy {
  /** For example `triage`, `reply`, `investigate`: 1..100 characters. */
  readonly type: string;
  /** Tokens of everything that the model is given, directives included. */
  readonly budgetTokens: number;
  /** The guaranteed share of each lane, 0..1, of the room that directives and the newest turn leave. They add up to 1. */
  readonly lanes: Readonly<Record<Lane, number>>;
  /** All lanes; the first is trimmed first. */
  readonly trimOrder: readonly Lane[];
  readonly traceEntries: number;
  /** When and how older messages are summarised; null: never. */
  readonly summary: SummaryPolicy | null;
  /** Whether fragments of earlier workflows of the session are shown. */
  readonly session: boolean;
  /** Whose messages, calls and results are shown: those of the workflow's present phase, or of all. Absent in records of before: all. */
  readonly phases?: 'own' | 'all' | undefined;
}

/** What `definePolicy` takes. A lane without an entry has the share 0. */
export interface PolicyOptions {
  readonly type: string;
  readonly budgetTokens: number;
  readonly lanes?: Readonly<Partial<Record<Lane, number>>> | undefined;
  readonly trimOrder?: readonly Lane[] | undefined;
  readonly traceEntries?: number | undefined;
  readonly summary?: SummaryPolicy | null | undefined;
  readonly session?: boolean | undefined;
  /** `own` by default. */
  readonly phases?: BundlePolicy['phases'];
}

const DEFAULT_SHARES: Readonly<Record<Lane, number>> = {
  messages: 0.4,
  tool_results: 0.3,
  trace: 0.05,
  working_memory: 0.1,
  continuation: 0.1,
  user_context: 0.05,
};
const DEFAULT_TRIM_ORDER: readonly Lane[] = [
  'messages',
  'tool_results',
  'trace',
  'continuation',
  'user_context',
  'working_memory',
];
const NO_SHARES: Readonly<Record<Lane, number>> = {
  messages: 0,
  tool_results: 0,
  trace: 0,
  working_memory: 0,
  continuation: 0,
  user_context: 0,
};
const TYPE_MAX_CHARS = 100;
/** Shares are written as decimals, which are inexact in binary. */
const SHARES_TOLERANCE = 1e-9;

/** Completes the given parts with the defaults. Throws `InvalidError` (`invalid-policy`), like `checkPolicy`. */
export function definePolicy(options: PolicyOptions): BundlePolicy {
  const lanes = options.lanes === undefined ? DEFAULT_SHARES : { ...NO_SHARES, ...options.lanes };
  return checkPolicy({
    type: options.type,
    budgetTokens: options.budgetTokens,
    lanes,
    trimOrder: options.trimOrder ?? DEFAULT_TRIM_ORDER,
    traceEntries: options.traceEntries ?? TRACE_ENTRIES_DEFAULT,
    summary: options.summary ?? null,
    session: options.session ?? true,
    phases: options.phases ?? 'own',
  });
}

/** Returns the policy when it is valid; otherwise throws `InvalidError` (`invalid-policy`), which names field, value and remedy. */
export function checkPolicy(policy: BundlePolicy): BundlePolicy {
  const { type, budgetTokens, traceEntries, session, phases } = policy;
  if (typeof type !== 'string' || type.length === 0 || type.length > TYPE_MAX_CHARS)
    refuse('type', type, `give a name of 1 to ${TYPE_MAX_CHARS} characters, such as 'reply'`);
  if (!isCount(budgetTokens) || budgetTokens === 0)
    refuse('budgetTokens', budgetTokens, 'give a whole number of tokens above 0');
  checkShares(policy.lanes);
  checkTrimOrder(policy.trimOrder);
  if (!isCount(traceEntries)) refuse('traceEntries', traceEntries, 'give a whole number from 0');
  if (policy.summary !== null) checkSummary(policy.summary);
  if (typeof session !== 'boolean') refuse('session', session, 'give true or false');
  if (!['own', 'all', undefined].includes(phases)) refuse('phases', phases, "give 'own' or 'all'");
  return policy;
}

const isLane = (name: unknown): name is Lane => LANES.includes(name as Lane);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function checkShares(lanes: BundlePolicy['lanes']): void {
  if (typeof lanes !== 'object' || lanes === null) refuse('lanes', lanes, 'give a share for each lane');
  for (const name of Object.keys(lanes)) {
    if (!isLane(name)) refuse(`lanes.${name}`, lanes[name as Lane], `there is no such lane: use ${LANES.join(', ')}`);
  }
  for (const lane of LANES) {
    const share = lanes[lane];
    if (typeof share !== 'number' || !(share >= 0 && share <= 1))
      refuse(`lanes.${lane}`, share, 'give a share from 0 to 1');
  }
  const sum = LANES.reduce((total, lane) => total + lanes[lane], 0);
  if (Math.abs(sum - 1) > SHARES_TOLERANCE)
    refuse('lanes', sum, `the shares add up to ${Number(sum.toPrecision(6))}: make them add up to 1`);
}

function checkTrimOrder(order: readonly Lane[]): void {
  if (!Array.isArray(order)) refuse('trimOrder', order, `give a list of all lanes: ${LANES.join(', ')}`);
  const seen = new Set<string>();
  for (const lane of order as readonly Lane[]) {
    if (!isLane(lane)) refuse('trimOrder', lane, `there is no such lane: use ${LANES.join(', ')}`);
    if (seen.has(lane)) refuse('trimOrder', lane, 'it is named twice: name each lane once');
    seen.add(lane);
  }
  const missing = LANES.filter((lane) => !seen.has(lane));
  if (missing.length > 0) refuse('trimOrder', order, `it misses ${missing.join(', ')}: name each lane once`);
}

function checkSummary(summary: SummaryPolicy): void {
  if (typeof summary !== 'object') refuse('summary', summary, 'give its thresholds, or null for none');
  const { thresholdTokens, keepTokens, by } = summary;
  if (!isCount(thresholdTokens) || thresholdTokens === 0)
    refuse('summary.thresholdTokens', thresholdTokens, 'give a whole number of tokens above 0');
  if (!isCount(keepTokens) || keepTokens >= thresholdTokens)
    refuse('summary.keepTokens', keepTokens, `give a whole number below the threshold of ${thresholdTokens}`);
  if (by !== 'model' && by !== 'rule') refuse('summary.by', by, "give 'model' or 'rule'");
}

function refuse(field: string, value: unknown, remedy: string): never {
  const shown = typeof value === 'number' || value === undefined ? String(value) : JSON.stringify(value);
  throw new InvalidError('invalid-policy', `Bundle policy, ${field} is ${shown}: ${remedy}.`, { field, value });
}

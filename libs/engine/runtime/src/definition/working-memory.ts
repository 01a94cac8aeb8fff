/**
 * Owns working memory: the current phase and its keys, as the changes in checkpoints make them. It refuses a write over the phase's token
 * budget. Keys of another phase are out of scope: reading one is an error, and is counted. Only a hand-over carries keys into the next
 * phase, and it names them (I9). It does not know how changes are stored.
 */

import { canonicalJson, type ScopeChange, type ScopeSize, toJson } from '@tidemark/codec';
import { InvalidError, type Json, LimitError, type Tokenizer } from '@tidemark/core';

export interface PhaseDefinition {
  /** Phases that it may hand over to. */
  readonly next: readonly string[];
  /** Token budget of its working memory. */
  readonly budgetTokens: number;
  /** Throws `InvalidError`, which names the path. */
  readonly parseMemory?: ((memory: Readonly<Record<string, Json>>) => void) | undefined;
}

export interface Scope extends ScopeSize {
  readonly phase: string;
  readonly memory: Readonly<Record<string, Json>>;
  /** Keys that earlier phases had and did not hand over, each with the phase that had it last. */
  readonly gone: Readonly<Record<string, string>>;
}

export const emptyScope = (phase: string): Scope => ({ phase, memory: {}, gone: {} });

/** The scope after the change. */
export function changedScope(scope: Scope, change: ScopeChange): Scope {
  const { phase, tokens, budgetTokens } = change;
  const size = { ...(tokens !== undefined && { tokens }), ...(budgetTokens !== undefined && { budgetTokens }) };
  if ('carried' in change) {
    const gone: Record<string, string> = { ...scope.gone };
    for (const key of change.left) gone[key] = change.from ?? '';
    for (const key of Object.keys(change.carried)) delete gone[key];
    return { phase, memory: change.carried, gone, ...size };
  }
  const memory: Record<string, Json> = { ...scope.memory, ...change.put };
  for (const key of change.removed ?? []) delete memory[key];
  return { phase, memory, gone: scope.gone, ...size };
}

/** A step's change of working memory: keys to set (undefined: to remove), or the phase to hand over to. */
export interface ScopeUpdate {
  readonly put?: Readonly<Record<string, unknown>> | undefined;
  readonly handOver?: HandOver | undefined;
}

export interface HandOver {
  readonly to: string;
  /** Keys of the old phase that the new one begins with. */
  readonly carry?: readonly string[] | undefined;
  /** Further keys that the new phase begins with. */
  readonly with?: Readonly<Record<string, unknown>> | undefined;
  /** What the next phase needs to know, in words. */
  readonly summary: string;
}

export interface MemoryRules {
  readonly phases: ReadonlyMap<string, PhaseDefinition>;
  readonly tokenizer: Tokenizer;
  /** Begins error messages, such as `refund v2, step think`. */
  readonly where: string;
}

/**
 * The change that a step's update makes, or null when it makes none. Throws `LimitError` (`memory-over-budget`, which says by how much),
 * and `InvalidError` (`phase-not-declared`, `phase-key-unknown`, `phase-memory-invalid`).
 */
export function scopeChange(before: Scope, update: ScopeUpdate, rules: MemoryRules): ScopeChange | null {
  const { put, handOver } = update;
  const written = put === undefined ? before : changedScope(before, putting(before, put, rules));
  // The budget also applies to keys that the same step drops by handing over.
  const size = put === undefined ? {} : checkedSize(written, rules);
  if (handOver !== undefined) return handingOver(before, written, handOver, rules);
  return put === undefined ? null : { ...putting(before, put, rules), ...size };
}

function putting(before: Scope, put: Readonly<Record<string, unknown>>, { where }: MemoryRules): ScopeChange {
  const removed = Object.keys(put).filter((key) => put[key] === undefined);
  const set: Record<string, Json> = {};
  for (const [key, value] of Object.entries(put)) {
    if (value !== undefined) set[key] = toJson(value, `${where}, memory.${key}`);
  }
  return { phase: before.phase, put: set, ...(removed.length > 0 && { removed }) };
}

function handingOver(before: Scope, written: Scope, handOver: HandOver, rules: MemoryRules): ScopeChange {
  const { where, phases } = rules;
  const { to, carry = [], summary } = handOver;
  const next = phases.get(before.phase)?.next ?? [];
  if (!next.includes(to)) {
    throw new InvalidError(
      'phase-not-declared',
      `${where}: phase '${before.phase}' may not hand over to '${to}'. Declare it: phases: { ${before.phase}: { next: [..., '${to}'] } }.`,
      { phase: before.phase, to },
    );
  }
  const carried: Record<string, Json> = {};
  for (const key of carry) {
    const value = written.memory[key];
    if (value === undefined) {
      throw new InvalidError(
        'phase-key-unknown',
        `${where}: the hand-over from '${before.phase}' to '${to}' carries '${key}', which that phase doesn't hold. It holds: ${Object.keys(written.memory).join(', ') || 'nothing'}.`,
        { phase: before.phase, key },
      );
    }
    carried[key] = value;
  }
  for (const [key, value] of Object.entries(handOver.with ?? {})) {
    if (value !== undefined) carried[key] = toJson(value, `${where}, handOver.with.${key}`);
  }
  const left = Object.keys(written.memory).filter((key) => !(key in carried));
  const size = checkedSize({ phase: to, memory: carried, gone: {} }, rules);
  return { phase: to, from: before.phase, carried, left: left.sort(), summary, ...size };
}

/** The tokens that working memory takes. */
export const memoryTokens = (memory: Scope['memory'], tokenizer: Tokenizer): number =>
  Object.keys(memory).length === 0 ? 0 : tokenizer.count(canonicalJson(memory));

function checkedSize({ phase, memory }: Scope, { phases, tokenizer, where }: MemoryRules): ScopeSize {
  const definition = phases.get(phase);
  if (definition === undefined) return {};
  const { parseMemory, budgetTokens } = definition;
  parseMemory?.(memory);
  const tokens = memoryTokens(memory, tokenizer);
  if (tokens <= budgetTokens) return { tokens, budgetTokens };
  const over = tokens - budgetTokens;
  throw new LimitError(
    'memory-over-budget',
    `${where}: working memory of phase '${phase}' would take ${tokens} tokens, ${over} over its budget of ${budgetTokens}. Remove keys (set them to undefined), or keep large things as fragments.`,
    { phase, tokens, budgetTokens, over },
  );
}

/** The error for reading a key that the phase doesn't hold. It names the key, the phase, and the phase that had the key. */
export function outOfScope({ phase, memory, gone }: Scope, key: string, where: string): InvalidError {
  const was = gone[key];
  const why =
    was === undefined
      ? `It holds: ${Object.keys(memory).sort().join(', ') || 'nothing'}.`
      : `Phase '${was}' had it and did not hand it over: name it in handOver.carry there.`;
  return new InvalidError('memory-out-of-scope', `${where}: '${key}' is out of scope in phase '${phase}'. ${why}`, {
    phase,
    key,
  });
}

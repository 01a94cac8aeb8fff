/**
 * Owns the irreversible effects without a probe that modules of this process have defined, each with its place: a definition need not list
 * its effects, so whoever loads it learns of them here alone. They stand in the process and not in this module, of which a process may
 * load a second copy, with the modules of workflows.
 */

import type { EffectDefinition } from './definition.ts';

const DEFINED = Symbol.for('tidemark.unprobed-effects');

type Unprobed = Pick<EffectDefinition, 'operation' | 'compensateUnknown'> & { readonly at: string | undefined };

function defined(): Map<string, Unprobed> {
  const holder = globalThis as { [DEFINED]?: Map<string, Unprobed> };
  holder[DEFINED] ??= new Map();
  return holder[DEFINED];
}

/** A frame of a stack: `at file:///agents/pay.ts:12:30`. */
const FRAME = /^ *at (?:[^(]* \()?(?:file:\/\/)?(\/[^():]+:\d+):\d+\)?$/;

/** `stack`: of the call of `defineEffect`, without those above it. */
export function noteUnprobed(effect: Pick<EffectDefinition, 'operation' | 'compensateUnknown'>, stack: string): void {
  const [, at] = FRAME.exec(stack.split('\n')[1] ?? '') ?? [];
  const { operation, compensateUnknown } = effect;
  defined().set(operation, { operation, compensateUnknown, at });
}

/** What follows when a worker dies in the call. */
export function unprobedWords({
  operation,
  compensateUnknown,
}: Pick<EffectDefinition, 'operation' | 'compensateUnknown'>): string {
  const at = defined().get(operation)?.at;
  const what = `Effect ${operation}${at === undefined ? '' : ` (${at})`} is irreversible and has no probe: when a worker dies during the call, or before the checkpoint after its own, nothing can tell whether it took place`;
  const then =
    compensateUnknown === undefined ? 'the workflow waits for a person to decide' : 'the whole workflow is compensated';
  return `${what}, and ${then}. Add probe, or make the call idempotent by its key.`;
}

/** The warnings of those that none of these definitions lists. */
export function unlistedWarnings(
  definitions: readonly { readonly effects: readonly Pick<EffectDefinition, 'operation'>[] }[],
): readonly string[] {
  const listed = new Set(definitions.flatMap(({ effects }) => effects.map(({ operation }) => operation)));
  return [...defined().values()].filter(({ operation }) => !listed.has(operation)).map(unprobedWords);
}

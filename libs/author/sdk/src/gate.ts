/**
 * Owns gates: a named check that must pass before a step counts as done. Its findings are evidence, kept in the execution log with the
 * checkpoint; a gate that doesn't pass throws, so that nothing of the attempt counts.
 */

import { toJson } from '@tidemark/codec';
import { type Json, messageOf, TidemarkError } from '@tidemark/core';
import type { StepActions } from './context.ts';

/** Characters of a gate's evidence that its error's message shows. */
const EVIDENCE_SHOWN_MAX_CHARS = 500;

/** A check's finding. True and false are verdicts without evidence. */
export type Verdict = boolean | { readonly passed: boolean; readonly evidence?: unknown };

/** A named check of a step's output. */
export interface Gate<Output> {
  /** Name of the check, for people: `at least one article`. */
  readonly name: string;
  /** Runs after the step and before its checkpoint. If it throws, the gate hasn't passed. */
  check(output: Output, ctx: StepActions): Verdict | Promise<Verdict>;
}

/** The record of a gate that passed. */
export interface GateEvidence {
  readonly name: string;
  readonly evidence: Json;
}

/** A gate didn't pass: the step isn't done, and is retried as its retry policy says. */
export class GateError extends TidemarkError {
  override readonly name = 'GateError';

  constructor(gate: string, step: string, evidence: Json, cause?: unknown) {
    const said = JSON.stringify(evidence).slice(0, EVIDENCE_SHOWN_MAX_CHARS);
    super('gate-failed', `Step ${step} did not pass its gate '${gate}': ${said}`, { gate, step, evidence, cause });
  }
}

/** Checks in any step of any workflow; returns the evidence, which is in the execution log too. Throws `GateError`. */
export async function passGate<Output>(ctx: StepActions, gate: Gate<Output>, output: Output): Promise<GateEvidence> {
  const { passed, evidence } = await verdictOf(ctx, gate, output);
  if (!passed) throw new GateError(gate.name, ctx.step, evidence);
  ctx.log('gate', { gate: gate.name, passed, evidence });
  return { name: gate.name, evidence };
}

async function verdictOf<Output>(
  ctx: StepActions,
  gate: Gate<Output>,
  output: Output,
): Promise<{ readonly passed: boolean; readonly evidence: Json }> {
  let verdict: Verdict;
  try {
    verdict = await gate.check(output, ctx);
  } catch (error) {
    // The worker must end, or the error is marked as final: that is no verdict.
    if (ctx.signal.aborted || error instanceof TidemarkError) throw error;
    throw new GateError(gate.name, ctx.step, messageOf(error), error);
  }
  if (typeof verdict === 'boolean') return { passed: verdict, evidence: verdict };
  // Only a clear yes passes: a check that forgets to return must not.
  const passed = verdict?.passed === true;
  return { passed, evidence: toJson(verdict?.evidence ?? passed, `evidence of gate '${gate.name}'`) };
}

/**
 * Owns the effects that simulated workflows call: one definition for each kind of receiver, and its compensation. They report to the judge
 * what their steps see. Must not know of faults.
 */

import type { EffectKey, EffectKind, Json } from '@tidemark/core';
import type { EffectDefinition, RetryPolicy } from '@tidemark/runtime';
import type { ReceiverKind } from './acceptance.ts';
import type { Outside } from './outside.ts';
import type { SimulatedProcess } from './process.ts';

/** What a workflow of the fleet is started with. */
export interface Input {
  readonly count: number;
  readonly amount: number;
  /** Receivers of the effects, in turn. */
  readonly receivers: readonly ReceiverKind[];
  readonly stepMs: number;
}

/** A step as it began, for the judge: everything that it builds on must still be there at the end. */
export interface Begun {
  readonly workflow: string;
  readonly task: string;
  readonly durable: boolean;
}

/** A workflow's own. */
export interface Input {
  readonly count: number;
  readonly amount: number;
  /** Receivers of the effects, in turn. */
  readonly receivers: readonly ReceiverKind[];
  readonly stepMs: number;
}

export interface StepHost {
  readonly process: SimulatedProcess;
  readonly outside: Outside;
  readonly onBegun: (begun: Begun) => void;
  /** Irreversible effects take a holder that fell silent for gone. */
  readonly trustsSilence: boolean;
}

/** Often enough that no fault uses it up. */
export const PATIENT: RetryPolicy = {
  attempts: 200,
  firstDelayMs: 60,
  factor: 1.5,
  maxDelayMs: 800,
  jitter: 0.5,
  nonRetryable: [],
};
const CALL_TIMEOUT_MS = 2_500;
const CONFIRM = { probeEveryMs: 700, timeoutMs: 5_000 };

const KINDS: Readonly<Record<ReceiverKind, EffectKind>> = {
  deduplicates: 'idempotent',
  probed: 'irreversible',
  blind: 'irreversible',
  confirms: 'idempotent',
  announces: 'irreversible',
  silent: 'idempotent',
};
const RECEIVERS = Object.keys(KINDS) as ReceiverKind[];
/** Receivers that report the outcome of a key. */
const PROBED: ReadonlySet<ReceiverKind> = new Set<ReceiverKind>(['probed', 'announces']);

export const effectsOf = (host: StepHost, undone: boolean): readonly EffectDefinition[] =>
  RECEIVERS.map((receiver) => effectOf(receiver, host, undone));

const asIs = (value: unknown): Json => (value ?? null) as Json;
/** A key begins with its workflow and its task. */
const workflowOf = (key: EffectKey): string => key.slice(0, key.indexOf(':'));

/** `undone`: it has a compensation, by its response or by its request. */
export function effectOf(
  receiver: ReceiverKind,
  { process, outside, trustsSilence }: StepHost,
  undone = false,
): EffectDefinition {
  const kind = KINDS[receiver];
  const undo = (named: Json, key: EffectKey): Promise<void> => {
    const { ref } = named as { readonly ref: string };
    return outside.undo(process, workflowOf(key), { key, ref, timeoutMs: CALL_TIMEOUT_MS });
  };
  return {
    operation: receiver,
    kind,
    timeoutMs: CALL_TIMEOUT_MS,
    confirm: CONFIRM,
    retry: PATIENT,
    ...(trustsSilence && kind === 'irreversible' && { afterSilence: 'call' as const }),
    parseRequest: asIs,
    parseResponse: asIs,
    call: (request, { key }) =>
      outside.call(process, receiver, {
        workflow: workflowOf(key),
        key,
        request,
        timeoutMs: CALL_TIMEOUT_MS,
        irreversible: kind === 'irreversible',
      }),
    ...(PROBED.has(receiver) ? { probe: (key: EffectKey) => outside.probe(process, key) } : {}),
    ...(undone
      ? {
          compensate: (response: Json, { key }: { readonly key: EffectKey }) => undo(response, key),
          compensateUnknown: (request: Json, { key }: { readonly key: EffectKey }) => undo(request, key),
        }
      : {}),
  };
}

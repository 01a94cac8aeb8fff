/** Owns checkpoints, effects and other events as commands show them, in JSON with the names of the checkpoint model. Pure. */

import { decodePayload } from '@tidemark/codec';
import { isoTime, type Json } from '@tidemark/core';
import type { CheckpointRow, EffectRow, EventRow } from '@tidemark/ports';

export const effectJson = (row: EffectRow) => ({
  operation: row.operation,
  idempotency_key: row.key,
  kind: row.kind,
  status: row.status,
  task: row.task,
  request_digest: row.requestDigest,
  response_digest: row.responseDigest,
  at: isoTime(row.atMs),
  ...effectPayload(row),
});

function effectPayload({ status, payload }: EffectRow): { readonly request: Json } | object {
  if (status === 'intended') return { request: decodePayload('EffectIntended', payload).request };
  return decodePayload('EffectResolved', payload);
}

/** `effects`: those of the checkpoint's task. Only for checkpoints after the opening. */
export function checkpointJson(row: CheckpointRow, effects: readonly EffectRow[]) {
  const { output, delta, snapshot, log } = decodePayload('CheckpointCommitted', row.payload);
  return {
    checkpoint_id: row.checkpoint,
    sequence_number: row.sequence,
    parent_checkpoint_id: row.parent,
    status: 'committed',
    step_definition_ref: row.step,
    step_version: row.stepVersion,
    task: row.task,
    input_state_hash: row.inputDigest,
    output_state: output,
    belief_change: snapshot === undefined ? (delta === undefined ? null : { delta }) : { snapshot },
    effect_log: effects.map((effect) => ({
      operation: effect.operation,
      idempotency_key: effect.key,
      status: effect.status,
      request_digest: effect.requestDigest,
      response_digest: effect.responseDigest,
    })),
    log: (log ?? []).map(({ atMs, action, detail }) => ({
      at: isoTime(atMs),
      action,
      ...(detail === undefined ? {} : { detail }),
    })),
    last_action: row.lastAction,
    tokens: row.tokens,
    cost_micros: row.costMicros,
    epoch: row.epoch,
    holder: row.holder,
    lamport: row.lamport,
    position: row.position,
    at: isoTime(row.atMs),
  };
}

export const eventJson = (row: EventRow) => ({
  position: row.position,
  event_id: row.event,
  type: row.type,
  at: isoTime(row.atMs),
  epoch: row.epoch,
  holder: row.holder === '' ? null : row.holder,
  lamport: row.lamport,
  control: JSON.parse(row.control) as Json,
  payload: JSON.parse(row.payload) as Json,
});

const FORGOTTEN = '(forgotten)';
/** An event whose key was destroyed has none. */
const messageOf = (error: { readonly message: string } | undefined): string => error?.message ?? FORGOTTEN;

/** What an event says, in a few words; without its payload's values, except an error's message. */
export function eventWords(row: EventRow): string {
  const control = JSON.parse(row.control) as Record<string, unknown>;
  switch (row.type) {
    case 'StepFailed': {
      const { error } = decodePayload('StepFailed', row.payload);
      return `task ${control.task}, attempt ${control.attempt}: ${messageOf(error)}`;
    }
    case 'WorkflowFailed':
      return messageOf(decodePayload('WorkflowFailed', row.payload).error);
    case 'WorkflowParked':
      return `${control.code}: ${messageOf(decodePayload('WorkflowParked', row.payload).error)}`;
    case 'ApprovalDecided':
      return `${control.by} decided ${control.resolution}: ${decodePayload('ApprovalDecided', row.payload).why ?? FORGOTTEN}`;
    case 'EffectConfirmed':
      return `token ${control.token}: ${control.outcome}`;
    case 'CompensationStarted':
      return `${control.code}: undone by ${control.undo}`;
    case 'CompensationFinished':
      return `${control.undo}: ${control.outcome}`;
    case 'VersionPinned':
      return `${control.pinned === true ? 'pinned' : 'let go'} by ${control.by}`;
    case 'SignalReceived':
      return String(control.name);
    case 'TimerFired':
      return String(control.timer);
    case 'LeaseRevoked':
      return `epoch ${control.epoch}: ${control.reason}`;
    default:
      return '';
  }
}

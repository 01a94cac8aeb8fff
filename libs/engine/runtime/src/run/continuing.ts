/**
 * Owns the opening of a workflow that continues another as new: drawn up by the worker whose step asked for it, and completed by the process
 * that opens it, with what was left when the other closed. Must not write.
 */

import { decodePayload, type NextOpening } from '@tidemark/codec';
import {
  type Continues,
  CorruptError,
  continuationId,
  InvalidError,
  type Json,
  LIFECYCLE_RULES_VERSION,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { StreamSnapshot } from '@tidemark/ports';
import type { Definition } from '../definition/index.ts';
import { type Ports, traceParentOf, workflowSpan } from '../kernel/index.ts';
import { WORKFLOW_ID_MAX_CHARS } from '../lease/index.ts';
import { drawUpOpening, type Opening } from './opening.ts';

export interface Next {
  readonly as: WorkflowId;
  readonly opening: NextOpening;
}

/**
 * The version that the input was written for begins it, as it does a child. Throws what the definition does, and `InvalidError`
 * (`continue-secret`, `continue-id-too-long`).
 */
export function drawUpNext(
  definition: Definition,
  input: unknown,
  { workflow, session, user, tags, dispatch, parent }: StreamState,
  ports: Pick<Ports, 'clock' | 'digest'>,
): Next {
  if (definition.hasSecrets === true) throw secret(definition);
  const as = continuationId(workflow);
  if (as.length > WORKFLOW_ID_MAX_CHARS) throw tooLong(as);
  const { control, payload } = drawUpOpening(
    {
      ...{ definition, input, workflow: as, session, user, tags, parent, priority: dispatch?.priority },
      trace: traceParentOf(workflow, workflowSpan(workflow)),
    },
    ports,
  );
  // Its time counts from the first opening: see `leftAfter`.
  const { timeoutMs: _, ...untimed } = control;
  const opened = { ...untimed, rules: LIFECYCLE_RULES_VERSION };
  return { as, opening: { mode: definition.placement, control: opened as unknown as Json, ...payload } as NextOpening };
}

/** The whole opening, from how the workflow before it stood when it closed. `rows`: that one's. */
export function completed(
  { mode: _, control, ...payload }: NextOpening,
  state: StreamState,
  rows: Pick<StreamSnapshot, 'checkpoints' | 'causes'>,
  atMs: number,
): Omit<Opening, 'lamport'> {
  const { deadline, pinned } = state;
  const values = valuesOf(state, rows);
  return {
    atMs,
    control: {
      ...(control as unknown as Opening['control']),
      pinned,
      continues: carriedState(state),
      ...(deadline !== undefined && { timeoutMs: Math.max(1, Math.ceil(deadline.anchorMs + deadline.delayMs - atMs)) }),
    },
    payload: { ...payload, ...(state.signals.length > 0 && { signals: values }) },
  };
}

function carriedState({ workflow, signals, inbox, paused, continued, raised }: StreamState): Continues {
  const taken = inbox.filter((id) => id.startsWith('signal:'));
  return {
    workflow,
    spent: continued?.spent ?? { tokens: 0, costMicros: 0 },
    ...(signals.length > 0 && { signals }),
    ...(taken.length > 0 && { taken }),
    ...(paused !== undefined && { paused: { by: paused.by, atMs: paused.atMs } }),
    ...(raised !== undefined && { raised }),
  };
}

/** What the signals say that nobody has looked at: they came to this one, or with its own opening. */
function valuesOf(
  { workflow, signals }: StreamState,
  { checkpoints, causes }: Pick<StreamSnapshot, 'checkpoints' | 'causes'>,
): Readonly<Record<string, Json>> {
  const [opening] = checkpoints.filter(({ sequence }) => sequence === 0);
  const values = new Map<string, Json>(
    Object.entries((opening && decodePayload('WorkflowOpened', opening.payload).signals) ?? {}),
  );
  for (const { event, payload } of causes) values.set(event, decodePayload('SignalReceived', payload)?.value ?? null);
  return Object.fromEntries(
    signals.map(({ event, name }) => {
      const value = values.get(event);
      if (value !== undefined) return [event, value];
      const message = `Workflow ${workflow} continues as a new run, and its signal ${name} can't be read any more. Restore its history from segments.`;
      throw new CorruptError('rows-incomplete', message, { workflow, signal: name });
    }),
  );
}

const secret = ({ name }: Definition): InvalidError =>
  new InvalidError(
    'continue-secret',
    `${name} has secret fields, which are sealed with a key of each workflow's own: what one holds, the next can't read. End it, and start another.`,
    { definition: name },
  );

const tooLong = (as: WorkflowId): InvalidError =>
  new InvalidError(
    'continue-id-too-long',
    `The id of the next run, ${as}, would have more than ${WORKFLOW_ID_MAX_CHARS} characters. Start such workflows with shorter ids.`,
    { workflow: as },
  );

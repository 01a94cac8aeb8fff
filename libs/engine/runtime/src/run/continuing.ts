/**
 * Owns the opening of a run that continues a workflow as new. The worker whose step asked for it builds the opening (`drawUpNext`), and the
 * process that opens the run completes it with what was left when the previous run closed (`completed`). It appends nothing.
 */

import { decodePayload, type NextOpening } from '@tidemark/codec';
import {
  type Continues,
  CorruptError,
  continuationId,
  InvalidError,
  type Json,
  NO_SPEND,
  type Spend,
  type StreamState,
  spentBy,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import type { StreamSnapshot } from '@tidemark/ports';
import type { Definition } from '../definition/index.ts';
import type { InheritedSignals } from '../history/index.ts';
import { type Ports, traceParentOf, workflowSpan } from '../kernel/index.ts';
import { WORKFLOW_ID_MAX_CHARS } from '../lease/index.ts';
import { drawUpOpening, type Opening, placingOf } from './opening.ts';

export interface Next {
  readonly as: WorkflowId;
  readonly opening: NextOpening;
}

/**
 * The next run begins with the version of the definition for which the input was written, as a child does. Throws what the definition
 * throws, and `InvalidError` (`continue-secret`, `continue-id-too-long`).
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
  // The time limit counts from the opening of the first run, so `completed` sets what is left of it.
  const { timeoutMs: _, ...opened } = control;
  const placing = placingOf(definition, parent);
  return { as, opening: { ...placing, control: opened as unknown as Json, ...payload } as NextOpening };
}

/** The complete opening. `state` and `rows` are those of the run before it, as it closed; `atMs`: the time of the opening. */
export function completed(
  { mode: _, besideParent: __, control, ...payload }: NextOpening,
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

/**
 * The same of a reset. Its time limit counts anew, the version is the chosen one, and while its base is undone it is paused. `signals`: those
 * that it inherits.
 */
export function completedReset(
  { mode: _, besideParent: __, control, ...payload }: NextOpening,
  state: StreamState,
  { signals, values }: InheritedSignals,
  atMs: number,
): Omit<Opening, 'lamport'> {
  const carried = carriedState({ ...state, signals, continued: { as: state.workflow, spent: spentBefore(state) } });
  const undoing = payload.fork?.reset?.undoes === true && { paused: { by: undoId(state.workflow), atMs } };
  return {
    atMs,
    control: { ...(control as unknown as Opening['control']), continues: { ...carried, ...undoing } },
    payload: { ...payload, ...(signals.length > 0 && { signals: values }) },
  };
}

/** A history that had ended before it was reset did not add up what it spent. */
const spentBefore = (state: StreamState): Spend => state.continued?.spent ?? spentBy(state);

function carriedState({ workflow, signals, inbox, paused, continued, raised }: StreamState): Continues {
  const taken = inbox.filter((id) => id.startsWith('signal:'));
  return {
    workflow,
    spent: continued?.spent ?? NO_SPEND,
    ...(signals.length > 0 && { signals }),
    ...(taken.length > 0 && { taken }),
    ...(paused !== undefined && { paused: { by: paused.by, atMs: paused.atMs } }),
    ...(raised !== undefined && { raised }),
  };
}

/**
 * The values of the signals that no task consumed, by event. They came to this run, or with its opening. Throws `CorruptError`
 * (`rows-incomplete`) if the rows lack one.
 */
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

/**
 * Owns whether a fork that calls its effects again depends on people's answers: approvals and decisions in its shared history, in that of
 * all forks before it, and in children that ended there; or on a belief that no step produced. It does not know who may make such a fork.
 */

import { decodePayload } from '@tidemark/codec';
import { type Envelope, nthId, nthOf, type Offset, type Sequence, type WorkflowId } from '@tidemark/core';
import type { EventLog, ProjectionStore } from '@tidemark/ports';
import { type AcceptedEvent, eventsThrough, lastOf, openingOffset } from '../history/index.ts';

/** Histories that are searched for people's answers before a fork of them calls effects again. */
const FORK_HISTORIES_MAX_COUNT = 1_000;

interface Dependencies {
  readonly log: EventLog;
  readonly store: Pick<ProjectionStore, 'workflow' | 'checkpoints' | 'loadStreams'>;
}

/** A workflow's history up to a checkpoint; null: all of it. */
interface Stretch {
  readonly workflow: WorkflowId;
  readonly upTo: Sequence | null;
}

/**
 * Describes people's answers in the history that a fork at this checkpoint shares; undefined: there are none. A history that is no longer
 * known, or is too long to read, counts as answered. Throws what the log throws, and `UnavailableError` (`object-archived`).
 */
export async function answeredBefore(
  dependencies: Dependencies,
  workflow: WorkflowId,
  upTo: Sequence,
): Promise<string | undefined> {
  const left: Stretch[] = [{ workflow, upTo }];
  for (let count = 0; ; count++) {
    const stretch = left.pop();
    if (stretch === undefined) return undefined;
    if (count === FORK_HISTORIES_MAX_COUNT) return `it shares more than ${count} histories`;
    for await (const event of eventsOf(dependencies, stretch)) {
      if (event === 'unknown') return `the answers in ${stretch.workflow} are no longer known`;
      const why = answerIn(event, stretch.workflow);
      if (why !== undefined) return why;
      left.push(...(await leadsTo(dependencies, event.envelope)));
    }
  }
}

function answerIn({ envelope: { type }, payload }: AcceptedEvent, workflow: WorkflowId): string | undefined {
  if (type === 'ApprovalGiven' || type === 'ApprovalDecided') return `it depends on answers in ${workflow}`;
  if (type !== 'WorkflowOpened') return undefined;
  const { fork } = decodePayload(type, payload);
  return fork?.isChanged === true ? `${workflow} began with another belief or version than its base had` : undefined;
}

/** Further histories that this event depends on. */
async function leadsTo({ store }: Dependencies, { type, control }: Envelope): Promise<readonly Stretch[]> {
  if (type === 'WorkflowOpened') {
    return control.fork === undefined ? [] : [{ workflow: control.fork.workflow, upTo: control.fork.sequence }];
  }
  if (type !== 'ChildClosed') return [];
  const row = await store.workflow(control.child);
  if (row === undefined) return [{ workflow: control.child, upTo: null }];
  const { first, n } = nthOf(row.workflow);
  const last = nthOf((await lastOf(store, row)).workflow);
  return Array.from({ length: last.n - n + 1 }, (_, at) => ({ workflow: nthId({ first, n: n + at }), upTo: null }));
}

async function* eventsOf({ log, store }: Dependencies, stretch: Stretch): AsyncGenerator<AcceptedEvent | 'unknown'> {
  const { workflow, upTo } = stretch;
  const row = await store.workflow(workflow);
  const [end] = upTo === null ? [] : await store.checkpoints(workflow, { from: upTo, limit: 1 });
  if (row === undefined || end?.sequence !== (upTo ?? undefined)) {
    yield 'unknown';
    return;
  }
  const last = end?.offset ?? (Number.MAX_SAFE_INTEGER as Offset);
  for await (const event of eventsThrough(log, row, [await openingOffset(store, workflow), last])) {
    yield event;
    if (upTo === null && event.position >= row.position) return;
  }
}

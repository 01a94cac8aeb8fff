/** Owns the question of a parked workflow, or the record it stands at, and the possible answers. Reads rows. */

import { type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import { fittingResolutions, PLAIN_REFUSED, parkedQuestion } from '@tidemark/runtime';

type Reads = Pick<ProjectionStore, 'loadStreams' | 'events'>;

/** Null: there is no question. */
export async function questionOf(reads: Reads, workflow: WorkflowId) {
  const [snapshot] = await reads.loadStreams([workflow], { payloads: false });
  return snapshot === undefined ? null : questionIn(reads, streamFromJson(snapshot.state, snapshot.tasks));
}

/** Null: there is no question. Reads the one event that asks. */
export async function questionIn(reads: Pick<Reads, 'events'>, state: StreamState) {
  const { question, unreadable, workflow } = state;
  if (unreadable?.problem !== undefined) return judgementOf(unreadable.problem, unreadable);
  if (question === null) return null;
  const payload = await parkedQuestion(reads, workflow, question.id);
  return {
    question_id: question.id,
    code: question.code,
    task: question.task,
    idempotency_key: question.key,
    resolutions: fittingResolutions(state, question),
    message: payload?.error?.message ?? '',
    evidence: payload?.evidence ?? null,
  };
}

/** The question of a workflow that stands at an unreadable record: no resolution answers it, the record is judged. */
const judgementOf = (problem: string, { offset, type }: { readonly offset: number; readonly type: string }) => ({
  ...{ question_id: '', code: problem, task: null, idempotency_key: null, resolutions: [] },
  message: `the ${type} at offset ${offset} can't be read, and nothing after it counts until somebody skips or takes it: ${PROBLEMS[problem] ?? PROBLEMS[OVER_BOUNDS]}`,
  evidence: { offset, type },
});

const OVER_BOUNDS = 'over-bounds';
const PROBLEMS: Readonly<Record<string, string>> = {
  'sealed-wrong':
    'it is not encrypted, or not with the key of this workflow that it names. Somebody who has no keys has written or changed it.',
  'key-missing':
    'the store of keys has never had the key that it names, or has lost it. Put a copy of the store back before you skip anything.',
  [PLAIN_REFUSED]:
    'the workflow begins unencrypted, where all are to be encrypted. Take it if it is from before encryption was turned on.',
  'blob-missing': 'its large payload is not in the blob store. Put it back from a copy.',
  'blob-damaged': 'its large payload was changed. Put it back from a copy.',
  [OVER_BOUNDS]: 'its payload has more values, levels or longer keys than Tidemark writes.',
};

/** Owns what a parked workflow asks a person, and what it may be answered with. Reads rows. */

import { type Json, type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import { askedBy, fittingResolutions } from '@tidemark/runtime';

export interface QuestionTold {
  readonly question_id: string;
  readonly code: string;
  readonly task: string | null;
  readonly idempotency_key: string | null;
  readonly resolutions: readonly string[];
  readonly message: string;
  readonly evidence: Json;
}

/** Null: it asks nothing. */
export async function questionOf(
  reads: Pick<ProjectionStore, 'loadStreams' | 'events'>,
  workflow: WorkflowId,
): Promise<QuestionTold | null> {
  const [snapshot] = await reads.loadStreams([workflow]);
  const state: StreamState | undefined = snapshot && streamFromJson(snapshot.state, snapshot.tasks);
  if (state === undefined || state.question === null) return null;
  const { question } = state;
  const payload = await askedBy(reads, workflow, question.id);
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

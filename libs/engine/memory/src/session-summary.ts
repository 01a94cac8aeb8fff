/**
 * Owns the shape of a session's summary (B7): always the same five parts under the session's id, with the time it was made; and the text by
 * which a search finds it.
 */

import { z } from 'zod';

const entries = z.array(z.string().min(1)).readonly();

export const sessionSummarySchema = z
  .object({
    session_id: z.string().min(1),
    task_description: z.string().min(1),
    decisions_made: entries,
    work_completed: entries,
    open_questions: entries,
    next_recommended_steps: entries,
    /** ISO 8601, UTC. */
    created_at: z.iso.datetime(),
  })
  .readonly();

export type SessionSummary = z.infer<typeof sessionSummarySchema>;

/** The lists of a summary, in the order in which they are shown. */
export const SUMMARY_LISTS = ['decisions_made', 'work_completed', 'open_questions', 'next_recommended_steps'] as const;
export type SummaryList = (typeof SUMMARY_LISTS)[number];

/** The text that memory searches: the first line is the task alone, since it weighs more. */
export function summaryWords(summary: SessionSummary): string {
  const lines = SUMMARY_LISTS.flatMap((list) => summary[list]);
  return [summary.task_description, ...lines].map((line) => line.replaceAll(/\s+/g, ' ').trim()).join('\n');
}

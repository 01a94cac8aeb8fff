/**
 * Owns the text that summarises earlier sessions for a new one. Deterministic, with a limit on its characters. What a new session needs
 * most is cut last (the tasks themselves, next steps, open questions, decisions, then work), of the best summaries first.
 */

import { type SessionSummary, SUMMARY_LISTS, type SummaryList } from './session-summary.ts';

/** Characters of a continuation context. Overridden by `maxChars`. */
const CONTINUATION_MAX_CHARS = 4_000;

const TITLES: Record<SummaryList, string> = {
  decisions_made: 'Decided',
  work_completed: 'Done',
  open_questions: 'Open questions',
  next_recommended_steps: 'Next steps',
};
const BY_NEED: readonly SummaryList[] = [
  'next_recommended_steps',
  'open_questions',
  'decisions_made',
  'work_completed',
];

/** How many entries of each list are shown. */
type Shown = Record<SummaryList, number>;

/** Takes summaries with the best first. Empty when there are none, or when not even one task fits. */
export function buildContinuationContext(
  summaries: readonly SessionSummary[],
  { maxChars = CONTINUATION_MAX_CHARS }: { readonly maxChars?: number } = {},
): string {
  const shown: { summary: SessionSummary; counts: Shown }[] = [];
  const fits = (): boolean => text(shown).length <= maxChars;
  for (const summary of summaries) {
    shown.push({
      summary,
      counts: { decisions_made: 0, work_completed: 0, open_questions: 0, next_recommended_steps: 0 },
    });
    if (!fits()) {
      shown.pop();
      break;
    }
  }
  for (const list of BY_NEED) {
    for (const { summary, counts } of shown) {
      while (counts[list] < summary[list].length) {
        counts[list] += 1;
        if (fits()) continue;
        counts[list] -= 1;
        break;
      }
    }
  }
  return text(shown);
}

function text(shown: readonly { readonly summary: SessionSummary; readonly counts: Shown }[]): string {
  if (shown.length === 0) return '';
  const sections = shown.map(({ summary, counts }) => section(summary, counts));
  return ['# Earlier sessions', ...sections].join('\n\n');
}

function section(summary: SessionSummary, counts: Shown): string {
  const date = summary.created_at.slice(0, 'YYYY-MM-DD'.length);
  const lines = [`## ${date}: ${summary.task_description} (session ${summary.session_id})`];
  for (const list of SUMMARY_LISTS) {
    if (counts[list] === 0) continue;
    const left = summary[list].length - counts[list];
    lines.push(`${TITLES[list]}${left === 0 ? '' : ` (${left} more)`}:`);
    lines.push(...summary[list].slice(0, counts[list]).map((item) => `- ${item}`));
  }
  return lines.join('\n');
}

/**
 * Owns the rule-based summary of a session's trace, for sessions without a model or with an unusable answer. Pure: the same trace gives the
 * same summary.
 */

import type { SessionSummary } from './session-summary.ts';

/** Most entries of one list of a rule-based summary. */
const SUMMARY_ITEMS_MAX = 12;
/** Most characters of one entry of a summary. */
const SUMMARY_ITEM_MAX_CHARS = 300;

export interface TraceStep {
  readonly step: string;
  readonly action: string;
  readonly output?: unknown;
}

export interface SummaryFragment {
  /** `task_goal`, `constraint`, `checkpoint_note`, `user_message`, `agent_message`, … */
  readonly type: string;
  readonly text: string;
}

export interface SessionTrace {
  readonly sessionId: string;
  readonly goal: string;
  /** In order. */
  readonly trace: readonly TraceStep[];
  /** In order. */
  readonly fragments: readonly SummaryFragment[];
  /** Unfinished tasks, the next first. */
  readonly openTasks: readonly string[];
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/**
 * Decisions: the notes of checkpoints, and the constraints. Work: the steps, repeated ones once with a count. Questions: those in the last
 * messages that were not answered. Next: the unfinished tasks.
 */
export function summariseTraceByRule(session: SessionTrace): SessionSummary {
  const goal = session.goal.trim() || firstOf(session.fragments, 'task_goal') || `Session ${session.sessionId}`;
  return {
    session_id: session.sessionId,
    task_description: short(goal),
    decisions_made: newest(decisions(session.fragments)),
    work_completed: newest(work(session.trace)),
    open_questions: newest(openQuestions(session.fragments)),
    next_recommended_steps: distinct(session.openTasks.map(short)).slice(0, SUMMARY_ITEMS_MAX),
    created_at: session.createdAt,
  };
}

const firstOf = (fragments: readonly SummaryFragment[], type: string): string | undefined =>
  fragments.find((fragment) => fragment.type === type)?.text.trim();

function decisions(fragments: readonly SummaryFragment[]): string[] {
  return fragments.flatMap(({ type, text }) => {
    if (type === 'checkpoint_note') return lines(text);
    return type === 'constraint' ? [`Kept to: ${text}`] : [];
  });
}

function work(trace: readonly TraceStep[]): string[] {
  const done: { text: string; count: number }[] = [];
  for (const { step, action, output } of trace) {
    const result = output === undefined || output === null || output === '' ? '' : ` → ${reported(output)}`;
    const text = action.trim() === '' || action === step ? `${step}${result}` : `${step}: ${action}${result}`;
    const last = done.at(-1);
    if (last?.text === text) last.count += 1;
    else done.push({ text, count: 1 });
  }
  return done.map(({ text, count }) => (count === 1 ? text : `${text} (${count} times)`));
}

const reported = (output: unknown): string => (typeof output === 'string' ? output : (JSON.stringify(output) ?? ''));

/** Questions of the agent since the user's last message; the user's own when the agent said nothing after it. */
function openQuestions(fragments: readonly SummaryFragment[]): string[] {
  const messages = fragments.filter(({ type }) => type === 'user_message' || type === 'agent_message');
  const asked = messages.findLastIndex(({ type }) => type === 'user_message');
  const since = messages.slice(asked === messages.length - 1 ? asked : asked + 1);
  return since.flatMap(({ text }) => text.match(/(?<![^.!?\n])[^.!?\n]+\?+(?=\s|$)/g) ?? []);
}

const lines = (text: string): string[] => text.split('\n').map((line) => line.replace(/^\s*[-*•]\s+/, ''));

/** The last items, and how many came before. */
function newest(items: readonly string[]): string[] {
  const all = distinct(items.map(short));
  if (all.length <= SUMMARY_ITEMS_MAX) return all;
  const kept = all.slice(-(SUMMARY_ITEMS_MAX - 1));
  return [`(${all.length - kept.length} earlier ones)`, ...kept];
}

const distinct = (items: readonly string[]): string[] => [...new Set(items.filter((item) => item !== ''))];

/** The text on one line, cut if it is too long. */
export function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= SUMMARY_ITEM_MAX_CHARS) return line;
  return `${line.slice(0, SUMMARY_ITEM_MAX_CHARS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

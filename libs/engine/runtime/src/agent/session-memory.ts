/**
 * Owns what memory gives a workflow: to its bundles when it begins (what earlier sessions of its user left that fits the task, and what is
 * known of the user, its domains and the tenant), and to a step that asks. It only reads; without an embedder it compares words.
 */

import { parseContent } from '@tidemark/codec';
import { isoDay, type TenantId } from '@tidemark/core';
import {
  answerTo,
  buildContinuationContext,
  buildUserContext,
  type Embedder,
  embedQuestion,
  factOf,
  rankFacts,
  recall,
  type SessionSummary,
  sessionSummarySchema,
  subjectsOf,
  userSubject,
} from '@tidemark/memory';
import type { MemoryKind, MemoryRow, MemoryStore, RecalledMemory, Telemetry } from '@tidemark/ports';
import type { SessionMemory } from '../kernel/index.ts';
import { sessionSubject } from './summaries.ts';

/** Preferences and facts of a user that are read for bundles, before they are cut to a lane's share. */
const INJECTED_STATE_MAX_COUNT = 100;
const INJECTED_FACTS_MAX_COUNT = 50;

export interface SessionMemoryOptions {
  readonly store: Pick<MemoryStore, 'memories' | 'recall'>;
  /** Null: recall compares words alone. */
  readonly embedder: Embedder | null;
  /** Receives the reason when only words were compared although there is an embedder. */
  readonly onWarning?: ((message: string) => void) | undefined;
  readonly telemetry?: Pick<Telemetry, 'count'> | undefined;
}

/** Score from which words, or meaning, count as relevant to the question. */
const RELEVANT_FROM = 0.5;

const isRelevant = ({ wordsScore, similarity }: RecalledMemory): boolean =>
  (wordsScore ?? 0) >= RELEVANT_FROM || (similarity ?? 0) >= RELEVANT_FROM;

export const sessionMemory = ({ store, embedder, onWarning, telemetry }: SessionMemoryOptions): SessionMemory => ({
  recall: (request) => recall({ ...request, store, embedder }),

  async inject({ tenant, session, user, domains, query, isControl }) {
    const handOvers = session === undefined ? [] : await handOversOf(store, tenant, session);
    if (isControl) return handOvers.length > 0 ? { continuation: handOvers } : {};
    const question = await embedQuestion({ embedder, query });
    if (question.warning?.code === 'embedding-failed') onWarning?.(question.warning.message);
    const ask = (subjects: readonly string[], kinds: readonly MemoryKind[], limit?: number) =>
      answerTo(question, { store, tenant, subjects, kinds, limit });
    const [summaries, state, facts] = await Promise.all([
      user === undefined ? [] : recalled(user),
      user === undefined ? [] : preferencesOf(store, tenant, user),
      knownFacts(subjectsOf({ tenant, user }, domains)),
    ]);
    const continuation = [...handOvers, ...sectionsOf(buildContinuationContext(summaries))];
    const known = buildUserContext({ state, facts });
    return { ...(continuation.length > 0 && { continuation }), ...(known.length > 0 && { user: known }) };

    async function recalled(of: string): Promise<readonly SessionSummary[]> {
      const { entries } = await ask([userSubject(of)], ['summary']);
      for (const entry of entries) {
        telemetry?.count('session_recall_entries_total', 1, { relevant: String(isRelevant(entry)) });
      }
      return entries.flatMap(({ memory }) => summaryIn(memory));
    }

    async function knownFacts(subjects: readonly string[]) {
      const limit = INJECTED_FACTS_MAX_COUNT;
      const [fitting, ...newest] = await Promise.all([
        ask(subjects, ['fact'], limit),
        ...subjects.map((subject) => store.memories({ tenant, subject, kind: 'fact', order: 'newest', limit })),
      ]);
      const ranked = rankFacts(fitting.entries, newest.flat());
      // Facts without a text (of an older version) are omitted.
      return ranked
        .map((row) => ({ ...factOf(row), subject: row.subject }))
        .filter(({ text }) => typeof text === 'string');
    }
  },
});

/** A summary that no longer has the form (of an older version) is omitted. */
export const summaryIn = ({ value }: MemoryRow): readonly SessionSummary[] => {
  const parsed = sessionSummarySchema.safeParse(parseContent(value));
  return parsed.success ? [parsed.data] : [];
};

async function preferencesOf(store: SessionMemoryOptions['store'], tenant: TenantId, user: string) {
  const named = { tenant, subject: userSubject(user) };
  const state = await store.memories({ ...named, kind: 'state', limit: INJECTED_STATE_MAX_COUNT });
  return state.map(({ key, value, source, atMs }) => ({ key, value: parseContent(value) as unknown, source, atMs }));
}

/** Begins the keys of a session's hand-overs. */
export const HAND_OVER_PREFIX = 'handover:';

/** A hand-over of a session, as the next agent or person reads it. */
export interface SessionHandOver {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifacts: readonly string[];
}

async function handOversOf(
  store: SessionMemoryOptions['store'],
  tenant: TenantId,
  session: string,
): Promise<readonly string[]> {
  const rows = await store.memories({
    tenant,
    subject: sessionSubject(session),
    kind: 'record',
    prefix: HAND_OVER_PREFIX,
    order: 'newest',
    limit: 1,
  });
  return rows.flatMap(({ value, atMs }) => {
    const { from, to, message, artifacts = [] } = (parseContent(value) ?? {}) as Partial<SessionHandOver>;
    if (typeof message !== 'string' || !Array.isArray(artifacts)) return [];
    const with_ = artifacts.length === 0 ? '' : `\nWith: ${artifacts.join(', ')}`;
    return `# Handed over from ${from} to ${to}, ${isoDay(atMs)}\n${message}${with_}`;
  });
}

/** Empty lines separate sections. */
const sectionsOf = (text: string): readonly string[] => (text === '' ? [] : text.split('\n\n'));

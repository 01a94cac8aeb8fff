/**
 * Owns what memory puts into the bundles of a workflow when it begins: what earlier sessions of its user left that fits the task, and
 * what is known of the user. Reads only; a missing embedder leaves words to decide.
 */

import { isoDay, type TenantId } from '@tidemark/core';
import {
  buildContinuationContext,
  buildUserContext,
  type Embedder,
  factOf,
  recall,
  type SessionSummary,
  sessionSummarySchema,
  userSubject,
} from '@tidemark/memory';
import type { MemoryRow, MemoryStore, RecalledMemory, Telemetry } from '@tidemark/ports';
import type { SessionMemory } from '../kernel/index.ts';
import { INJECTED_FACTS_MAX_COUNT, INJECTED_STATE_MAX_COUNT } from './limits.ts';
import { sessionSubject } from './summaries.ts';

export interface SessionMemoryOptions {
  readonly store: Pick<MemoryStore, 'memories' | 'recall'>;
  /** Null: recall by words alone. */
  readonly embedder: Embedder | null;
  /** Told why words decided alone although there is an embedder. */
  readonly onWarning?: ((message: string) => void) | undefined;
  readonly telemetry?: Pick<Telemetry, 'count'> | undefined;
}

/** From which on words, or meaning, count as fitting the question. */
const RELEVANT_FROM = 0.5;

const isRelevant = ({ wordsScore, similarity }: RecalledMemory): boolean =>
  (wordsScore ?? 0) >= RELEVANT_FROM || (similarity ?? 0) >= RELEVANT_FROM;

export const sessionMemory = ({ store, embedder, onWarning, telemetry }: SessionMemoryOptions): SessionMemory => ({
  async inject({ tenant, session, user, query }) {
    const [summaries, handOvers, known] = await Promise.all([
      user === undefined ? [] : recalled(user, query, tenant),
      session === undefined ? [] : handOversOf(store, tenant, session),
      user === undefined ? '' : userText(store, tenant, user),
    ]);
    const continuation = [...handOvers, ...sectionsOf(buildContinuationContext(summaries))];
    return {
      ...(continuation.length > 0 && { continuation }),
      ...(known !== '' && { user: sectionsOf(known) }),
    };

    async function recalled(of: string, words: string, at: TenantId): Promise<readonly SessionSummary[]> {
      const { entries, warning } = await recall({ store, embedder, tenant: at, user: of, query: words });
      if (warning !== undefined) onWarning?.(warning.message);
      for (const entry of entries) {
        telemetry?.count('session_recall_entries_total', 1, { relevant: String(isRelevant(entry)) });
      }
      return entries.flatMap(({ memory }) => summaryIn(memory));
    }
  },
});

/** What isn't one any more (an older version's) is left out. */
export const summaryIn = ({ value }: MemoryRow): readonly SessionSummary[] => {
  const parsed = sessionSummarySchema.safeParse(JSON.parse(value));
  return parsed.success ? [parsed.data] : [];
};

async function userText(store: SessionMemoryOptions['store'], tenant: TenantId, user: string): Promise<string> {
  const named = { tenant, subject: userSubject(user) };
  const [state, facts] = await Promise.all([
    store.memories({ ...named, kind: 'state', limit: INJECTED_STATE_MAX_COUNT }),
    store.memories({ ...named, kind: 'fact', order: 'newest', limit: INJECTED_FACTS_MAX_COUNT }),
  ]);
  const preferences = state.map(({ key, value, source, atMs }) => ({
    key,
    value: JSON.parse(value) as unknown,
    source,
    atMs,
  }));
  // What is no text (an older version's) is left out.
  const reported = facts.map(factOf).filter(({ text }) => typeof text === 'string');
  return buildUserContext({ state: preferences, facts: reported });
}

/** Key of hand-overs of a session, before their number. */
export const HAND_OVER_PREFIX = 'handover:';

/** A session that was handed over, as the next agent or person reads it. */
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
    const { from, to, message, artifacts = [] } = (JSON.parse(value) ?? {}) as Partial<SessionHandOver>;
    if (typeof message !== 'string' || !Array.isArray(artifacts)) return [];
    const with_ = artifacts.length === 0 ? '' : `\nWith: ${artifacts.join(', ')}`;
    return `# Handed over from ${from} to ${to}, ${isoDay(atMs)}\n${message}${with_}`;
  });
}

/** Sections are parted by empty lines. */
const sectionsOf = (text: string): readonly string[] => (text === '' ? [] : text.split('\n\n'));

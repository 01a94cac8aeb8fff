/**
 * Owns what commands and the MCP server do with sessions, memory and retention, as flat calls with plain data, so that they
 * cross a socket unchanged. Must not decide anything.
 */

import {
  InvalidError,
  isoTime,
  type Json,
  sequence,
  streamFromJson,
  type TenantId,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { MemoryDesk, RecallAnswer, RecalledEntry, SeenCall, SeenCalls } from '@tidemark/mcp';
import { buildContinuationContext, sessionSummarySchema, userSubject } from '@tidemark/memory';
import {
  type LegalHold,
  type MemoryUpdate,
  type RebuiltCall,
  type RetentionPolicy,
  rebuildCalls,
  sessionBrief,
} from '@tidemark/runtime';

export interface CommandMemory extends MemoryDesk {
  /** Writes records of one subject; see `ClientMemory.remember`. */
  writeRecords(tenant: TenantId, writes: readonly MemoryUpdate[]): Promise<void>;
  retention(tenant: TenantId): Promise<TenantRetention>;
  /** Null: that of the compactors again. Throws `InvalidError` (`retention-invalid`). */
  setRetention(tenant: TenantId, policy: RetentionPolicy | null): Promise<void>;
  /** Throws as `ClientMemory.hold` does. */
  hold(tenant: TenantId, hold: LegalHold): Promise<void>;
  /** Throws `InvalidError` (`hold-unknown`). */
  release(tenant: TenantId, id: string): Promise<void>;
}

/** How long a tenant's archived history is kept. */
export interface TenantRetention {
  /** Null: that of the compactors. */
  readonly policy: RetentionPolicy | null;
  readonly holds: readonly LegalHold[];
}

/** Names of the calls, as a socket passes them on. */
export const MEMORY_CALLS = [
  'writeRecords',
  'brief',
  'seen',
  'handOver',
  'recall',
  'remember',
  'facts',
  'forgetFact',
  'userState',
  'userStates',
  'setUserState',
  'forgetUserState',
  'retention',
  'setRetention',
  'hold',
  'release',
] as const satisfies readonly (keyof CommandMemory)[];

export function hostMemory({ client, ports }: Host): CommandMemory {
  const { memory } = client;
  const { store } = ports;
  return {
    writeRecords: (tenant, writes) => memory.remember(writes, { tenant }),
    brief: async (tenant, session) => (await sessionBrief(store, tenant, session)) ?? null,
    seen: (tenant, workflow, at) => seenCalls(ports, tenant, workflowId(workflow), at),
    handOver: (tenant, session, handOver) => memory.handOver(tenant, session, handOver),
    recall: async (tenant, request) => recallAnswer(await memory.recall(tenant, request)),
    remember: (tenant, user, text, source) => memory.userFacts(tenant, user).remember(text, { source }),
    facts: (tenant, user, limit) => memory.userFacts(tenant, user).list(limit),
    async forgetFact(tenant, user, key) {
      const rows = await memory.memories(tenant, { subject: userSubject(user), kind: 'fact', key, limit: 1 });
      if (rows.length === 0) throw new InvalidError('fact-unknown', `No fact about ${user} has the key '${key}'.`);
      await memory.userFacts(tenant, user).forget(key);
    },
    async userState(tenant, user, key) {
      const found = await memory.userState(tenant, user).list(key);
      return found.find((entry) => entry.key === key) ?? null;
    },
    userStates: async (tenant, user, prefix) => await memory.userState(tenant, user).list(prefix),
    async setUserState(tenant, user, key, value, source) {
      await memory.userState(tenant, user).set(key, value, { source });
    },
    async forgetUserState(tenant, user, key) {
      if ((await this.userState(tenant, user, key)) === null) {
        throw new InvalidError('state-key-unknown', `${user} has no preference '${key}'.`, { key });
      }
      await memory.userState(tenant, user).forget(key);
    },
    retention: (tenant) => memory.retention(tenant),
    setRetention: (tenant, policy) => memory.setRetention(tenant, policy),
    hold: (tenant, hold) => memory.hold(tenant, hold),
    release: (tenant, id) => memory.release(tenant, id),
  };
}

async function seenCalls(
  { store, digest }: Host['ports'],
  tenant: TenantId,
  workflow: WorkflowId,
  at: number | null,
): Promise<SeenCalls | null> {
  const [snapshot] = await store.loadStreams([workflow]);
  const state = snapshot && streamFromJson(snapshot.state, snapshot.tasks);
  if (state?.tenant !== tenant) return null;
  // Not with the other commands: its tables would make each of them start more slowly.
  const { tokenizerById } = await import('@tidemark/tokenizer');
  const from = at === null ? state.head.sequence : sequence(at);
  const calls = await rebuildCalls({ store, digest, tokenizerById }, workflow, from);
  return { workflow, user: state.user ?? null, at: from, calls: calls.map(seenCall) };
}

const seenCall = ({ bundle, prompt, answer, sent, rebuilt, ...call }: RebuiltCall): SeenCall => ({
  idempotency_key: call.key,
  task: call.task,
  sequence_number: call.sequence,
  status: call.status,
  provider: call.provider,
  model: call.model,
  is_same: bundle === undefined ? null : sent === rebuilt,
  manifest_hash: bundle?.hash ?? null,
  bundle: (bundle?.messages ?? null) as unknown as Json,
  prompt: prompt as Json,
  answer: answer as unknown as Json,
});

function recallAnswer({ by, warning, entries }: Awaited<ReturnType<Host['client']['memory']['recall']>>): RecallAnswer {
  const told = entries.map(({ memory: { kind, key, value, source, atMs }, score }): RecalledEntry => {
    return { kind, key, score, at: isoTime(atMs), source, value: JSON.parse(value) as unknown };
  });
  const summaries = told.flatMap(({ kind, value }) => {
    const parsed = kind === 'summary' ? sessionSummarySchema.safeParse(value) : undefined;
    return parsed?.success ? [parsed.data] : [];
  });
  return { by, warning: warning?.message ?? null, entries: told, continuation: buildContinuationContext(summaries) };
}

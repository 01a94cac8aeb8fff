/**
 * Owns a caller's requests about long-term memory, sessions and budgets: remember, recall, hand a session over, set or raise a budget. It
 * writes inbox events into the streams of their subjects, and reads rows.
 */

import { canonicalJson, type MemoryWrite } from '@tidemark/codec';
import {
  BUDGET_EXCEEDED,
  ConflictError,
  InvalidError,
  invariant,
  type Json,
  type TenantId,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import {
  type Embedder,
  type Facts,
  factsAbout,
  type MemoryWriter,
  type Recalled,
  type RecallQuery,
  recall,
  type UserState,
  userState,
} from '@tidemark/memory';
import type { Spends } from '@tidemark/ports';
import {
  anyWrite,
  checkedMemories,
  HAND_OVER_PREFIX,
  memoryDefinition,
  memoryWorkflow,
  parseBudget,
  roomEvent,
  type SessionHandOver,
  type SharedBudget,
  sessionSubject,
} from '../agent/index.ts';
import {
  certificatesOf,
  certificateWrite,
  type Deletion,
  deletionWrite,
  holdWrite,
  type LegalHold,
  policyWrite,
  type RetentionPolicy,
  refuseElsewhere,
  refuseTaken,
  retentionOf,
  retentionSubject,
} from '../archive/index.ts';
import { type MemoryUpdate, refuseSealed } from '../definition/index.ts';
import { rowsCatchUp } from '../history/index.ts';
import type { Decisions, Starter } from '../inbox/index.ts';
import {
  ACCESS_SUBJECT,
  BUDGET_ENTRY,
  DEFINITIONS_SUBJECT,
  type Guarded,
  guardOf,
  type LamportClock,
  ownContent,
  type Ports,
  QUEUES_SUBJECT,
  type SecretGuard,
} from '../kernel/index.ts';
import { checkName } from '../lease/index.ts';

/** Parked workflows of a tenant that check their budget again when one is set, newest first. */
const PAUSED_RESUMED_MAX_COUNT = 10_000;

/** How long a forgetting waits for rows. */
const CAUGHT_UP_MAX_MS = 5_000;

export interface RememberOptions {
  readonly tenant: TenantId;
  /** Writes with the same key count once. */
  readonly key?: string | undefined;
}

/** A memory with its content as the policy leaves it; one that is forgotten has none. */
const contentIn = (
  write: MemoryWrite,
  { value, words }: { readonly value: Json; readonly words: string },
): MemoryWrite =>
  write.value === undefined ? write : { ...write, value, ...(write.words !== undefined && { words }) };

/** An entry of any subject; without a value it is deleted. */
export type OutlastingEntry = Pick<MemoryUpdate, 'subject' | 'kind' | 'key' | 'value'>;

export interface BudgetRaise {
  /** Added to the workflow's budgets. */
  readonly tokens?: number | undefined;
  readonly costMicros?: number | undefined;
  readonly by: string;
  readonly why: string;
}

export interface MemoriesOptions {
  readonly ports: Ports;
  readonly starter: Starter;
  readonly decisions: Decisions;
  readonly lamport: LamportClock;
  /** Null: recall compares words alone. */
  readonly embedder: Embedder | null;
}

/** Long-term memory of a tenant's subjects; see `Client.memory`. */
export class ClientMemory {
  readonly #options: MemoriesOptions;

  constructor(options: MemoriesOptions) {
    this.#options = options;
  }

  /**
   * Writes the updates in one event; resolves once rows show it. Throws `InvalidError` (`memory-invalid`, `memory-secret`), which names the
   * place and never the value.
   */
  async remember(updates: readonly MemoryUpdate[], { tenant, key }: RememberOptions): Promise<void> {
    refuseSealed('memories', updates);
    await this.#write(checkedMemories(updates, 'memories'), { tenant, key });
  }

  async #write(memories: readonly MemoryWrite[], options: RememberOptions): Promise<void> {
    const guard = guardOf(memoryDefinition.name, [], this.#options.ports);
    guard.names(
      'memories',
      memories.map(({ subject, key, source = '' }) => ({ subject, key, source })),
    );
    const contents = memories.map(({ value = null, words = '' }) => ({ value, words }));
    const taken = guard.content('memory', 'memories', contents);
    await this.#writeOne(
      taken.as((stored) =>
        stored === contents ? memories : memories.map((write, at) => contentIn(write, stored[at]!)),
      ),
      options,
    );
  }

  /** Writes about one subject, into its stream. */
  async #writeOne(writes: Guarded<readonly MemoryWrite[]>, options: RememberOptions): Promise<void> {
    const { value: memories } = writes;
    const [first] = memories;
    if (memories.some(({ subject }) => subject !== first!.subject)) {
      throw new InvalidError(
        'memory-invalid',
        'memories: one write is about one subject; write the others separately.',
      );
    }
    await this.#writeInto(first!.subject, writes, options);
  }

  /** `stream`: the subject whose stream gets the event, whatever subjects the entries have. */
  async #writeInto(
    stream: string,
    memories: Guarded<readonly MemoryWrite[]>,
    { tenant, key }: RememberOptions,
  ): Promise<void> {
    const { starter, decisions, ports, lamport } = this.#options;
    const workflow = memoryWorkflow(ports.digest, tenant, stream);
    await starter.start({ definition: memoryDefinition, input: { subject: stream }, workflow, tenant });
    // A step of another process may have written with a later Lamport time than this process knows.
    for (const subject of new Set(memories.value.map((write) => write.subject))) {
      lamport.witness(await ports.store.lamportOf(tenant, subject));
    }
    await decisions.remember(workflow, memories, key);
  }

  memories(tenant: TenantId, query: Omit<Parameters<Ports['store']['memories']>[0], 'tenant'>) {
    return this.#options.ports.store.memories({ ...query, tenant });
  }

  /** The entries of these subjects that fit the query best; the answer says whether only words were compared. */
  recall(tenant: TenantId, asked: RecallQuery & { readonly query: string }): Promise<Recalled> {
    const { ports, embedder } = this.#options;
    return recall({ ...asked, store: ports.store, embedder, tenant });
  }

  userState(tenant: TenantId, user: string): UserState {
    return userState(this.#options.ports.store, this.#writer(), tenant, user);
  }

  /** Facts about `user:ana`, `domain:food`, `tenant:acme`. */
  facts(tenant: TenantId, subject: string): Facts {
    return factsAbout(subject, this.#options.ports.store, this.#writer(), tenant);
  }

  #writer(): MemoryWriter {
    return {
      write: async (entries) => {
        for (const { tenant, isForgotten, value, ...entry } of entries) {
          const update = isForgotten ? entry : { ...entry, value: JSON.parse(value) as Json };
          await this.remember([update], { tenant });
        }
      },
    };
  }

  /** Records who takes over the session and what they need to know, for the session's next workflow. */
  async handOver(tenant: TenantId, session: string, handOver: SessionHandOver): Promise<void> {
    for (const field of ['from', 'to', 'message'] as const) {
      if (typeof handOver[field] !== 'string' || handOver[field].trim() === '') {
        throw new InvalidError('handover-invalid', `${field}: give a text; a hand-over has from, to and message.`, {
          field,
        });
      }
    }
    const subject = sessionSubject(session);
    const { clock, prng } = this.#options.ports;
    // Each hand-over has its own key: both of two concurrent ones are kept, and the later one is used.
    const key = `${HAND_OVER_PREFIX}${uuidv7(clock.nowMs(), prng.bytes(10))}`;
    const { from, to, message, artifacts } = handOver;
    await this.remember([{ subject, kind: 'record', key, value: { from, to, message, artifacts }, source: from }], {
      tenant,
    });
  }

  /** Sets the budget of a tenant or a user; undefined removes it. Throws `InvalidError` (`budget-invalid`). */
  async setBudget(tenant: TenantId, of: { readonly user?: string }, budget: SharedBudget | undefined): Promise<void> {
    const subject = of.user === undefined ? `tenant:${tenant}` : `user:${of.user}`;
    const value = budget === undefined ? {} : { value: parseBudget(budget) };
    await this.#write([anyWrite({ subject, ...BUDGET_ENTRY, ...value, source: 'budget' }, 'budget')], { tenant });
    await this.#resumePaused(tenant);
  }

  /** Sets how long the tenant's archived history is kept; null: the default again. Throws `InvalidError` (`retention-invalid`). */
  async setRetention(tenant: TenantId, policy: RetentionPolicy | null): Promise<void> {
    await this.#write([policyWrite(tenant, policy)], { tenant });
  }

  /**
   * Places a legal hold: from now on nothing that it covers is deleted. Placing the same hold again changes nothing. Throws `InvalidError`
   * (a field; `hold-elsewhere`: the workflow belongs to another tenant), `ConflictError` (`hold-taken`: another hold has that id).
   */
  async hold(tenant: TenantId, hold: LegalHold): Promise<void> {
    const write = holdWrite(tenant, hold);
    const { store } = this.#options.ports;
    const held = hold.workflow === null ? undefined : await store.workflow(hold.workflow);
    if (held !== undefined) refuseElsewhere(tenant, held);
    if (refuseTaken(tenant, hold, (await this.retention(tenant)).holds) === 'new') {
      await this.#write([write], { tenant });
    }
  }

  /** Stores a certificate of forgetting under the name of what was forgotten. */
  async certify(tenant: TenantId, of: string, certificate: Json): Promise<void> {
    // Whatever the name of what was forgotten looks like, it can be forgotten.
    const { by, why } = certificate as { readonly by: Json; readonly why: Json };
    const guard = guardOf(memoryDefinition.name, [], this.#options.ports);
    const said = guard.content('decision', 'certificate', { by, why });
    const write = said.as((stored) => [certificateWrite(tenant, of, { ...(certificate as object), ...stored })]);
    await this.#writeOne(write, { tenant });
  }

  /**
   * Deletes the entries, or writes those that have a value again, in the stream of the tenant's certificates. No forgetting destroys that
   * stream's key, so this still holds in rebuilt rows, after the subjects' own streams have become unreadable.
   */
  async outlast(tenant: TenantId, entries: readonly OutlastingEntry[]): Promise<void> {
    const writes = entries.map((entry) => anyWrite({ ...entry, source: 'forgetting' }, 'entry'));
    await this.#writeInto(retentionSubject(tenant), ownContent('stored', writes), { tenant });
  }

  /** The policy on secrets for what callers say in the system's own records. */
  guardOwn(subject: string): SecretGuard {
    return guardOf(subject, [], this.#options.ports);
  }

  /**
   * Writes the system's own records, in one event, into the stream of their subject: access rights (`access:…`), paused queues or
   * registered definitions. A record without a value is deleted. Resolves once rows show it.
   */
  async keepOwn(
    tenant: TenantId,
    subject: string,
    records: Guarded<readonly { readonly key: string; readonly value?: Json }[]>,
  ): Promise<void> {
    const isOwn = subject.startsWith(ACCESS_SUBJECT) || [QUEUES_SUBJECT, DEFINITIONS_SUBJECT].includes(subject);
    invariant(isOwn, "the system's records have subjects of their own", { subject });
    const source = subject.slice(0, subject.indexOf(':'));
    const writes = records.as((all) =>
      all.map((record) => anyWrite({ subject, kind: 'record', ...record, source }, source)),
    );
    await this.#writeOne(writes, { tenant });
  }

  /** Records that a policy deletes the segment; resolves once rows show it. The same deletion again changes nothing. */
  async deletes(tenant: TenantId, deletion: Deletion): Promise<void> {
    const write = deletionWrite(tenant, deletion);
    const { subject, kind, key } = write;
    const [row] = await this.#options.ports.store.memories({ tenant, subject, kind, key, limit: 1 });
    if (row === undefined || canonicalJson(JSON.parse(row.value)) !== canonicalJson(write.value as Json)) {
      // Two processes may write it at once; it counts once.
      await this.#writeOne(ownContent('system', [write]), { tenant, key: `${key}/${deletion.manifest}` });
    }
  }

  /** The tenant's certificates of forgetting, newest first. */
  certificates(tenant: TenantId): Promise<readonly Json[]> {
    return certificatesOf(this.#options.ports.store, tenant);
  }

  /** Resolves once rows show all that was started and written before, or after `CAUGHT_UP_MAX_MS`. */
  caughtUp(): Promise<void> {
    return rowsCatchUp(this.#options.ports, CAUGHT_UP_MAX_MS);
  }

  /** Ends a legal hold. Throws `InvalidError` (`hold-unknown`). */
  async release(tenant: TenantId, id: string): Promise<void> {
    const { holds } = await this.retention(tenant);
    if (!holds.some((hold) => hold.id === id)) {
      throw new InvalidError('hold-unknown', `Tenant ${tenant} has no hold '${id}'.`, { tenant, id });
    }
    await this.#write([holdWrite(tenant, { id, released: true })], { tenant });
  }

  /** The tenant's retention. `policy` null: it has none of its own, so the compactors' policy applies. */
  retention(
    tenant: TenantId,
  ): Promise<{ readonly policy: RetentionPolicy | null; readonly holds: readonly LegalHold[] }> {
    return retentionOf(this.#options.ports.store, tenant);
  }

  /**
   * Makes workflows that are parked for lack of budget check it again; those that still have too little park again. Coordinators serve the
   * rest (`BudgetRoom`).
   */
  async #resumePaused(tenant: TenantId): Promise<void> {
    const { ports, decisions } = this.#options;
    const parked = { tenant, status: 'parked', reason: BUDGET_EXCEEDED } as const;
    for (const { workflow, question } of await ports.store.workflows({ ...parked, limit: PAUSED_RESUMED_MAX_COUNT })) {
      if (question === null) continue;
      const nothing = { tokens: 0, costMicros: 0, by: 'budget' };
      await decisions.raise(workflow, nothing, 'a budget was set', roomEvent(question.id)).catch((error: unknown) => {
        // The workflow has ended meanwhile.
        if (!(error instanceof ConflictError)) throw error;
      });
    }
  }

  /** What calls have cost since then, and what running calls have reserved. */
  spent(tenant: TenantId, user: string | null, sinceMs: number): Promise<Spends> {
    return this.#options.ports.store.spent(tenant, user, sinceMs);
  }

  /**
   * Raises a workflow's budget; a workflow that is parked for lack of budget resumes. Throws `InvalidError` (names the field),
   * `ConflictError` (`workflow-closed`).
   */
  async raiseBudget(workflow: WorkflowId, { tokens = 0, costMicros = 0, by, why }: BudgetRaise): Promise<void> {
    for (const [field, value] of [
      ['tokens', tokens],
      ['costMicros', costMicros],
    ] as const) {
      if (!Number.isSafeInteger(value) || value < 0) {
        throw new InvalidError('budget-invalid', `${field}: give a whole number from 0, not ${value}.`, { field });
      }
    }
    if (tokens === 0 && costMicros === 0) {
      throw new InvalidError('budget-invalid', `tokens: give tokens or costMicros above 0 to end ${BUDGET_EXCEEDED}.`);
    }
    checkName('by', by);
    await this.#options.decisions.raise(workflow, { tokens, costMicros, by }, why);
  }
}

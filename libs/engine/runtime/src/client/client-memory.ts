/**
 * Owns what a caller does with long-term memory, sessions and budgets: remember, recall, hand a session over, raise a budget. Writes
 * inbox events through streams of their subjects, and reads rows.
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
import type { SessionWorkflow, Spends } from '@tidemark/ports';
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
} from '../archive/index.ts';
import { type MemoryUpdate, refuseSealed } from '../definition/index.ts';
import type { Decisions, Starter } from '../inbox/index.ts';
import {
  ACCESS_SUBJECT,
  BUDGET_ENTRY,
  type LamportClock,
  type Ports,
  QUEUES_SUBJECT,
  RETENTION_SUBJECT,
} from '../kernel/index.ts';
import { checkName } from '../lease/index.ts';
import { PAUSED_RESUMED_MAX_COUNT, SESSIONS_LIST_MAX_COUNT } from './limits.ts';

export interface RememberOptions {
  readonly tenant: TenantId;
  /** The same key is the same write, and counts once. */
  readonly key?: string | undefined;
}

/** An entry of anybody's; without a value it is forgotten. */
export type OutlastingEntry = Pick<MemoryUpdate, 'subject' | 'kind' | 'key' | 'value'>;

export interface BudgetRaise {
  /** To be added to the workflow's budgets. */
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
  /** Null: recall by words alone. */
  readonly embedder: Embedder | null;
}

/** Long-term memory of one tenant's subjects; see `Client.memory`. */
export class ClientMemory {
  readonly #options: MemoriesOptions;

  constructor(options: MemoriesOptions) {
    this.#options = options;
  }

  /**
   * Writes, in one event; resolves once rows show it. Throws `InvalidError` (`memory-invalid`, `memory-secret`), naming the
   * place and never the value.
   */
  async remember(updates: readonly MemoryUpdate[], { tenant, key }: RememberOptions): Promise<void> {
    refuseSealed('memories', updates);
    await this.#write(checkedMemories(updates, 'memories'), { tenant, key });
  }

  async #write(memories: readonly MemoryWrite[], options: RememberOptions): Promise<void> {
    const [first] = memories;
    if (memories.some(({ subject }) => subject !== first!.subject)) {
      throw new InvalidError('memory-invalid', 'memories: one write is about one subject; write the others apart.');
    }
    await this.#writeInto(first!.subject, memories, options);
  }

  /** `stream`: the subject whose stream they are written into, whatever they are about. */
  async #writeInto(stream: string, memories: readonly MemoryWrite[], { tenant, key }: RememberOptions): Promise<void> {
    const { starter, decisions, ports, lamport } = this.#options;
    const workflow = memoryWorkflow(ports.digest, tenant, stream);
    await starter.start({ definition: memoryDefinition, input: { subject: stream }, workflow, tenant });
    // A step of some other process may have written later than this one knows.
    for (const subject of new Set(memories.map((write) => write.subject))) {
      lamport.witness(await ports.store.lamportOf(tenant, subject));
    }
    await decisions.remember(workflow, memories, key);
  }

  memories(tenant: TenantId, query: Omit<Parameters<Ports['store']['memories']>[0], 'tenant'>) {
    return this.#options.ports.store.memories({ ...query, tenant });
  }

  /** The entries about these subjects that fit the query best; says whether by words alone. */
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

  /** Workflows of a session, newest first; the first one that isn't closed is live. */
  session(tenant: TenantId, session: string): Promise<readonly SessionWorkflow[]> {
    return this.#options.ports.store.session(tenant, session, SESSIONS_LIST_MAX_COUNT);
  }

  /** Says who goes on with the session and what they need to know; the next workflow of the session is told. */
  async handOver(tenant: TenantId, session: string, handOver: SessionHandOver): Promise<void> {
    for (const field of ['from', 'to', 'message'] as const) {
      if (typeof handOver[field] !== 'string' || handOver[field].trim() === '') {
        throw new InvalidError('handover-invalid', `${field}: say it in words; a hand-over has from, to and message.`, {
          field,
        });
      }
    }
    const subject = sessionSubject(session);
    const { clock, prng } = this.#options.ports;
    // A name of its own: two that hand over at once are both written down, and the later one is told.
    const key = `${HAND_OVER_PREFIX}${uuidv7(clock.nowMs(), prng.bytes(10))}`;
    const { from, to, message, artifacts } = handOver;
    await this.remember([{ subject, kind: 'record', key, value: { from, to, message, artifacts }, source: from }], {
      tenant,
    });
  }

  /** What a tenant or a user may spend; undefined takes the budget away. Throws `InvalidError` (`budget-invalid`). */
  async setBudget(tenant: TenantId, of: { readonly user?: string }, budget: SharedBudget | undefined): Promise<void> {
    const subject = of.user === undefined ? `tenant:${tenant}` : `user:${of.user}`;
    const value = budget === undefined ? {} : { value: parseBudget(budget) };
    await this.#write([anyWrite({ subject, ...BUDGET_ENTRY, ...value, source: 'budget' }, 'budget')], { tenant });
    await this.#resumePaused(tenant);
  }

  /** How long the tenant's archived history is kept; null: the default again. Throws `InvalidError` (`retention-invalid`). */
  async setRetention(tenant: TenantId, policy: RetentionPolicy | null): Promise<void> {
    await this.#write([policyWrite(tenant, policy)], { tenant });
  }

  /**
   * Nothing that it covers is deleted from now on; the same hold again changes nothing. Throws `InvalidError` (a field;
   * `hold-elsewhere`: the workflow is another tenant's), `ConflictError` (`hold-taken`: another hold has that id).
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

  /** Keeps a certificate of what was forgotten, under whose it was. */
  async certify(tenant: TenantId, of: string, certificate: Json): Promise<void> {
    await this.#write([certificateWrite(tenant, of, certificate)], { tenant });
  }

  /**
   * Takes the entries away, or where a value is given writes it anew, in the stream of the tenant's certificates: no forgetting takes
   * its key, so that it holds also in rows that are rebuilt when the subjects' own streams say nothing any more.
   */
  async outlast(tenant: TenantId, entries: readonly OutlastingEntry[]): Promise<void> {
    const writes = entries.map((entry) => anyWrite({ ...entry, source: 'forgetting' }, 'entry'));
    await this.#writeInto(`${RETENTION_SUBJECT}${tenant}`, writes, { tenant });
  }

  /**
   * Writes records of the system's own, in one event, into the stream of their subject: of who may do what (`access:…`), or of queues that
   * are held; without a value one is taken away. Resolves once rows show it.
   */
  async keepOwn(
    tenant: TenantId,
    subject: string,
    records: readonly { readonly key: string; readonly value?: Json }[],
  ): Promise<void> {
    const isOwn = subject.startsWith(ACCESS_SUBJECT) || subject === QUEUES_SUBJECT;
    invariant(isOwn, "the system's records have subjects of their own", { subject });
    const source = subject.slice(0, subject.indexOf(':'));
    const writes = records.map((record) => anyWrite({ subject, kind: 'record', ...record, source }, source));
    await this.#write(writes, { tenant });
  }

  /** Writes down that a policy deletes the segment; resolves once rows show it. The same again changes nothing. */
  async deletes(tenant: TenantId, deletion: Deletion): Promise<void> {
    const write = deletionWrite(tenant, deletion);
    const { subject, kind, key } = write;
    const [row] = await this.#options.ports.store.memories({ tenant, subject, kind, key, limit: 1 });
    if (row === undefined || canonicalJson(JSON.parse(row.value)) !== canonicalJson(write.value as Json)) {
      // Written twice by two, it counts once.
      await this.#write([write], { tenant, key: `${key}/${deletion.manifest}` });
    }
  }

  /** Certificates of what was forgotten of the tenant's, newest first. */
  certificates(tenant: TenantId): Promise<readonly Json[]> {
    return certificatesOf(this.#options.ports.store, tenant);
  }

  /** Throws `InvalidError` (`hold-unknown`). */
  async release(tenant: TenantId, id: string): Promise<void> {
    const { holds } = await this.retention(tenant);
    if (!holds.some((hold) => hold.id === id)) {
      throw new InvalidError('hold-unknown', `Tenant ${tenant} has no hold '${id}'.`, { tenant, id });
    }
    await this.#write([holdWrite(tenant, { id, released: true })], { tenant });
  }

  /** What stands for the tenant. `policy` null: none of its own, so that of the compactors. */
  retention(
    tenant: TenantId,
  ): Promise<{ readonly policy: RetentionPolicy | null; readonly holds: readonly LegalHold[] }> {
    return retentionOf(this.#options.ports.store, tenant);
  }

  /** What is paused for want of budget looks again; what still has too little pauses again. Coordinators do what is left of it (`BudgetRoom`). */
  async #resumePaused(tenant: TenantId): Promise<void> {
    const { ports, decisions } = this.#options;
    const parked = { tenant, status: 'parked', reason: BUDGET_EXCEEDED } as const;
    for (const { workflow, question } of await ports.store.workflows({ ...parked, limit: PAUSED_RESUMED_MAX_COUNT })) {
      if (question === null) continue;
      const nothing = { tokens: 0, costMicros: 0, by: 'budget' };
      await decisions.raise(workflow, nothing, 'a budget was set', roomEvent(question.id)).catch((error: unknown) => {
        // It has ended meanwhile.
        if (!(error instanceof ConflictError)) throw error;
      });
    }
  }

  /** What its calls have cost since then, and what those under way have reserved. */
  spent(tenant: TenantId, user: string | null, sinceMs: number): Promise<Spends> {
    return this.#options.ports.store.spent(tenant, user, sinceMs);
  }

  /**
   * Lets a workflow spend more; one that is paused for want of budget goes on. Throws `InvalidError` (names the field),
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

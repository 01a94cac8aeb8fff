/** Owns the context reads of the simulated store: content of batches, in memory. Must not be used outside tests. */

import {
  comparePlaces,
  type Lamport,
  NO_SPEND,
  plusSpend,
  type Sequence,
  type Sha256,
  type TenantId,
  type WorkflowId,
} from '@tidemark/core';
import type {
  CheckpointRow,
  ContextBatch,
  ContextStore,
  FragmentRow,
  FragmentWithText,
  MemoryEmbedding,
  MemoryName,
  MemoryQuery,
  MemoryRow,
  NamedText,
  RecalledMemory,
  RecallQuery,
  RecordPlace,
  RowStore,
  ScopeRow,
  SessionRow,
  SessionWorkflow,
  SpendRow,
  Spends,
  TraceEntry,
  UnembeddedMemory,
  UnscrubbedTable,
  UserWorkflow,
  WorkflowSummary,
  WrittenQuery,
} from '@tidemark/ports';

import { SimulatedMemories } from './simulated-memories.ts';

const DIRECTIVES: readonly string[] = ['task_goal', 'constraint', 'summary', 'checkpoint_note'];

export abstract class SimulatedContext implements ContextStore {
  #fragments: FragmentRow[] = [];
  readonly #texts = new Map<string, string>();
  #scopes: ScopeRow[] = [];
  readonly #spends = new Map<string, SpendRow>();
  readonly #sessions: SessionRow[] = [];
  readonly memory = new SimulatedMemories();

  abstract checkpoints(
    workflow: WorkflowId,
    options: { readonly from: Sequence; readonly limit: number },
  ): Promise<readonly CheckpointRow<RecordPlace>[]>;
  /** Runs before each operation: it may wait, or throw. */
  protected abstract enter(operation: keyof RowStore): Promise<void>;
  abstract workflow(workflow: WorkflowId): Promise<WorkflowSummary | undefined>;
  abstract userWorkflows(
    tenant: TenantId,
    user: string,
    after: WorkflowId | null,
    limit: number,
  ): Promise<readonly UserWorkflow[]>;

  protected sessionOf(workflow: WorkflowId): SessionRow | undefined {
    return this.#sessions.find((row) => row.workflow === workflow);
  }

  protected applyContext({ spends, sessions, ...seen }: ContextBatch): void {
    this.applySeen(seen);
    for (const spend of spends) {
      const key = `${spend.workflow}\0${spend.key}`;
      this.#spends.set(key, { ...spend, atMs: this.#spends.get(key)?.atMs ?? spend.atMs });
    }
    this.#sessions.push(...sessions);
  }

  /** What model calls saw: deleted and restored with a workflow's history. */
  protected applySeen({ fragments, texts, scopes }: Omit<ContextBatch, 'spends' | 'sessions'>): void {
    this.#fragments.push(...fragments);
    for (const { workflow, digest, text } of texts) this.#texts.set(`${workflow}\0${digest}`, text);
    this.#scopes.push(...scopes);
  }

  protected dropSeen(workflow: WorkflowId): void {
    this.#fragments = this.#fragments.filter((row) => row.workflow !== workflow);
    this.#scopes = this.#scopes.filter((row) => row.workflow !== workflow);
    for (const key of this.#texts.keys()) if (key.startsWith(`${workflow}\0`)) this.#texts.delete(key);
  }

  /** The texts of fragments of one workflow. */
  protected seenTextsOf(workflow: WorkflowId): readonly string[] {
    return [...this.#texts].flatMap(([key, text]) => (key.startsWith(`${workflow}\0`) ? [text] : []));
  }

  /** All texts of what model calls saw. */
  protected seenTexts(): readonly string[] {
    return [...this.#texts.values(), ...this.#scopes.map(({ change }) => change)];
  }

  protected loseContext(): void {
    this.#fragments.length = 0;
    this.#scopes.length = 0;
    this.#sessions.length = 0;
    this.#texts.clear();
    this.#spends.clear();
  }

  async fragments(workflow: WorkflowId, upTo: Sequence): Promise<readonly FragmentWithText[]> {
    const textOf = ({ digest }: { digest: Sha256 }) => this.#texts.get(`${workflow}\0${digest}`) ?? '';
    const placed = this.#fragments
      .filter((row) => row.workflow === workflow && row.sequence <= upTo)
      .map((row) => ({
        ...row,
        run: 0,
        text: textOf(row),
        parts: row.parts && { ...row.parts, text: textOf(row.parts) },
      }))
      .sort(comparePlaces);
    const covered = placed.findLast(({ covers }) => covers?.to.run === 0)?.covers?.to;
    return placed
      .filter((row) => DIRECTIVES.includes(row.type) || covered === undefined || comparePlaces(row, covered) > 0)
      .map(({ run: _, workflow: __, ...row }) => row);
  }

  async texts(workflow: WorkflowId, digests: readonly Sha256[]): Promise<readonly NamedText[]> {
    return digests.flatMap((digest) => {
      const text = this.#texts.get(`${workflow}\0${digest}`);
      return text === undefined ? [] : [{ digest, text }];
    });
  }

  async trace(workflow: WorkflowId, upTo: Sequence, count: number) {
    const rows = await this.checkpoints(workflow, { from: 1 as Sequence, limit: upTo });
    const entries: TraceEntry[] = rows
      .filter((row) => row.sequence <= upTo)
      .map((row) => ({ sequence: row.sequence, step: row.step ?? '', action: row.lastAction }));
    const earlier: Record<string, number> = {};
    for (const { step } of entries.slice(0, Math.max(0, entries.length - count))) {
      earlier[step] = (earlier[step] ?? 0) + 1;
    }
    return { recent: count === 0 ? [] : entries.slice(-count), earlier };
  }

  async scopes(workflow: WorkflowId, upTo: Sequence): Promise<readonly ScopeRow[]> {
    const rows = this.#scopes.filter((row) => row.workflow === workflow && row.sequence <= upTo);
    rows.sort((a, b) => a.sequence - b.sequence);
    const whole = rows.findLastIndex((row) => row.isWhole);
    return whole < 0 ? rows : rows.slice(whole);
  }

  async session(tenant: TenantId, session: string, limit: number): Promise<readonly SessionWorkflow[]> {
    const rows = this.#sessions.filter((row) => row.tenant === tenant && row.session === session);
    rows.sort((a, b) => b.lamport - a.lamport);
    const found: SessionWorkflow[] = [];
    for (const { workflow, lamport, user } of rows.slice(0, limit)) {
      const summary = await this.workflow(workflow);
      if (summary === undefined) continue;
      const { definition, status, sequence, openedAtMs } = summary;
      found.push({ workflow, user, definition, status, sequence, openedAtMs, lamport });
    }
    return found;
  }

  async spent(tenant: TenantId, user: string | null, sinceMs: number): Promise<Spends> {
    const sums = { settled: NO_SPEND, reserved: NO_SPEND };
    for (const spend of this.#spends.values()) {
      if (spend.tenant !== tenant || spend.atMs < sinceMs || (user !== null && spend.user !== user)) continue;
      const name = spend.isSettled ? 'settled' : 'reserved';
      sums[name] = plusSpend(sums[name], spend);
    }
    return sums;
  }

  async memories(query: MemoryQuery): Promise<readonly MemoryRow[]> {
    await this.enter('memories');
    return this.memory.memories(query);
  }

  async lamportOf(tenant: TenantId, subject: string): Promise<Lamport> {
    await this.enter('lamportOf');
    return this.memory.lamportOf(tenant, subject);
  }

  async recall(query: RecallQuery): Promise<readonly RecalledMemory[]> {
    await this.enter('recall');
    return this.memory.recall(query);
  }

  async memoriesWrittenBy(query: WrittenQuery): Promise<readonly MemoryName[]> {
    await this.enter('memoriesWrittenBy');
    return this.memory.memoriesWrittenBy(query);
  }

  async scrub(): Promise<readonly UnscrubbedTable[]> {
    await this.enter('scrub');
    return this.memory.scrub();
  }

  async unembedded(model: string, limit: number, after?: number): Promise<readonly UnembeddedMemory[]> {
    await this.enter('unembedded');
    return this.memory.unembedded(model, limit, after);
  }

  async putEmbeddings(rows: readonly MemoryEmbedding[]): Promise<void> {
    await this.enter('putEmbeddings');
    await this.memory.putEmbeddings(rows);
  }
}

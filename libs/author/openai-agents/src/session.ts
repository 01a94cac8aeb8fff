/**
 * Owns the framework's session over Tidemark. A session is a stream that no worker claims, written by one process at a time; it also changes
 * atomically and once by operation id.
 */

import { randomUUID } from 'node:crypto';
import {
  type AgentInputItem,
  applySessionHistoryMutations,
  protocol,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransaction,
  type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession,
} from '@openai/agents-core';
import { ConflictError, canonicalJson, InvalidError, type Json } from '@tidemark/core';
import {
  checkedStreamName,
  type ListChange,
  listEntries,
  newestItems,
  operationIn,
  type RecordedHost,
  RecordedNames,
  type RecordedStream,
  type RecordedWriter,
  refuseUnknownOptions,
  sha256Digest,
} from '@tidemark/runtime';
import { itemsOf, keptItems } from './items.ts';

/** How long a change is tried again while the log is unavailable, in milliseconds. */
const UNAVAILABLE_MAX_MS = 30_000;

export interface SessionOptions {
  /** Any text of 1 to 4,096 characters; a new one when absent. */
  readonly sessionId?: string | undefined;
  /** Whose it is; of an ordinary installation when absent. */
  readonly tenant?: string | undefined;
  /** Under which lists show it, and by which its stream's id begins: 1 to 40 of a to z, 0 to 9 and '-'. Default: openai-agents. */
  readonly name?: string | undefined;
}

export class TidemarkSession implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession {
  readonly #id: string;
  readonly #names: RecordedNames;
  readonly #writer: RecordedWriter;

  /** Throws `InvalidError` (`option-unknown`, `config-invalid`, `name-invalid`). */
  constructor(host: RecordedHost, options: SessionOptions = {}) {
    refuseUnknownOptions('TidemarkSession', options, { sessionId: true, tenant: true, name: true });
    const { sessionId = randomUUID(), tenant, name = 'openai-agents' } = options;
    this.#id = checkedStreamName('sessionId', sessionId);
    this.#names = new RecordedNames(host, { tenant, kind: name });
    this.#writer = this.#names.writerOf(this.#id, { what: 'session' });
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** By the log now: what this process writes next follows from it. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    return this.#writer.read(async (stream) => itemsOf(await newestItems(stream, limit)));
  }

  /** For `runAgent`: all items as they are kept, and the place after which they are written on. */
  async history(): Promise<{ readonly after: string; readonly items: readonly Json[] }> {
    return this.#writer.read(async (stream) => ({ after: placeOf(stream), items: await newestItems(stream) }));
  }

  /** For `runAgent`: changes the end of what was at that place, once. Throws `ConflictError` (`session-written-elsewhere`). */
  async addTurn(
    operationId: string,
    { after, drop, items }: { readonly after: string; readonly drop: number; readonly items: readonly Json[] },
  ): Promise<void> {
    const digest = sha256Digest.sha256(canonicalJson(['turn', after, drop, items] as Json));
    // What this object has read for others is no concern of this turn.
    await this.#writer.read(async () => {});
    await this.#change(async (stream) => {
      const operation = { step: stepOf(operationId), digest };
      // Its key alone says that it is there: what is made anew, as times are, differs where the process died before the run knew.
      if ((await operationIn(stream, operation.step)) !== undefined) return undefined;
      if (placeOf(stream) === after) return { drop, items, operation };
      const message = `Somebody else has written session ${this.#id} since this run read it: nothing of its turn is kept.`;
      throw new ConflictError('session-written-elsewhere', message, { session: this.#id });
    });
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    const kept = keptItems(items);
    if (kept.length > 0) await this.#change(async () => ({ drop: 0, items: kept }));
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    let newest: readonly Json[] = [];
    await this.#change(async (stream) => {
      newest = await newestItems(stream, 1);
      return newest.length === 0 ? undefined : { drop: 1, items: [] };
    });
    return itemsOf(newest)[0];
  }

  /** Empties it. What it had stays in the log: `deleteSession` destroys it. */
  async clearSession(): Promise<void> {
    await this.#change(async (stream) =>
      stream === undefined ? undefined : { drop: 'all', items: [], isClear: true },
    );
  }

  /** In one change, so nobody ever reads a part of it. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    const kept = keptItems(items);
    await this.#change(async () => ({ drop: 'all', items: kept }));
  }

  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    if (mutations.length === 0) return;
    await this.#change(async (stream) => {
      const before = await newestItems(stream);
      const after = keptItems(applySessionHistoryMutations(itemsOf(before), mutations));
      const changed = before.findIndex((item, at) => !isSame(item, after[at]));
      return changed === -1 ? undefined : { drop: before.length - changed, items: after.slice(changed) };
    });
  }

  /**
   * Once for each operation id since the session was cleared. Throws `InvalidError` (`transaction-invalid`, `not-json`), `ConflictError`
   * (`operation-differs`: another transaction had this id; `suffix-differs`), and then nothing has changed.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, expected, items, digest } = checkedTransaction(args);
    const step = stepOf(operationId);
    await this.#change(async (stream) => {
      const applied = await operationIn(stream, step);
      if (applied === digest) return undefined;
      if (applied !== undefined) {
        const message = `Operation ${operationId} of session ${this.#id} was already applied with a different transaction.`;
        throw new ConflictError('operation-differs', message, { session: this.#id, operation: operationId });
      }
      if (!isSame(await newestItems(stream, expected.length), expected)) {
        const message = `The suffix of session ${this.#id} no longer matches what operation ${operationId} expects.`;
        throw new ConflictError('suffix-differs', message, { session: this.#id, operation: operationId });
      }
      return { drop: expected.length, items, operation: { step, digest } };
    });
  }

  /** Ends the session, and destroys the keys of its history where it is encrypted. Another of its id begins anew. Harmless when repeated. */
  async deleteSession(): Promise<void> {
    await this.#names.delete(this.#id, 'its session was deleted').finally(() => this.#writer.reset());
  }

  async #change(changeOf: (stream: RecordedStream | undefined) => Promise<ListChange | undefined>): Promise<void> {
    await this.#writer.write(async (stream) => {
      const change = await changeOf(stream);
      return change === undefined ? [] : listEntries(stream, change);
    }, AbortSignal.timeout(UNAVAILABLE_MAX_MS));
  }
}

const stepOf = (operationId: string): string => `operation:${sha256Digest.sha256(operationId)}`;

const placeOf = (stream: RecordedStream | undefined): string =>
  stream === undefined ? '' : `${stream.workflow} ${stream.sequence}`;

const isSame = (a: Json | readonly Json[], b: Json | readonly Json[] | undefined): boolean =>
  b !== undefined && canonicalJson(a as Json) === canonicalJson(b as Json);

const FIELDS = { append_items: ['items', 'type'], replace_suffix: ['expectedSuffix', 'replacement', 'type'] } as const;

/** Reads what it is given once. Its errors quote nothing of the content. */
function checkedTransaction(args: SessionHistoryTransactionArgs) {
  let [operationId, transaction]: [unknown, SessionHistoryTransaction | undefined] = [undefined, undefined];
  try {
    ({ operationId, transaction } = args);
  } catch {
    throw invalid('give an operationId and a transaction.');
  }
  if (typeof operationId !== 'string' || operationId.trim() === '') throw invalid('operationId: give a text.');
  if (typeof transaction !== 'object' || transaction === null) throw invalid('transaction: give an object.');
  const fields: readonly string[] | undefined = FIELDS[transaction.type];
  if (fields?.join() !== Object.keys(transaction).sort().join()) {
    throw invalid(`transaction: give ${fields?.join(', ') ?? Object.keys(FIELDS).join(' or ')}, and nothing else.`);
  }
  const change: SessionHistoryTransaction = transaction;
  const isAppend = change.type === 'append_items';
  const items = isAppend ? checkedItems('items', change.items) : checkedItems('replacement', change.replacement);
  const expected = isAppend ? [] : checkedItems('expectedSuffix', change.expectedSuffix);
  const digest = sha256Digest.sha256(canonicalJson([change.type, expected, items] as Json));
  return { operationId, expected, items, digest };
}

function checkedItems(field: string, items: AgentInputItem[]): readonly Json[] {
  if (!Array.isArray(items)) throw invalid(`transaction.${field}: give a list.`);
  const kept = keptItems(Array.from(items), field);
  const at = itemsOf(kept).findIndex((item) => !protocol.ModelItem.safeParse(item).success);
  if (at !== -1) throw invalid(`transaction.${field}[${at}] is no item of a history.`);
  return kept;
}

const invalid = (message: string): InvalidError => new InvalidError('transaction-invalid', message, {});

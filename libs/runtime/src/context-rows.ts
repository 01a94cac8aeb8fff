/**
 * Owns what rows follow from the parts of payloads that are a workflow's context: fragments, texts, working memory, spends,
 * sessions. The only payloads that the projector opens are those whose control says that they hold any. Pure, like the
 * projection that it is a part of (I5).
 */

import { decodePayload, type MemoryWrite, type Payloads, type StoredFragment } from '@tidemark/codec';
import type { Envelope, EventType, LogEntry, Sequence, Sha256, Spend, StreamState, WorkflowId } from '@tidemark/core';
import type {
  ContextBatch,
  Digest,
  FragmentRow,
  MemoryRow,
  ScopeRow,
  SessionRow,
  SpendRow,
  TextRow,
} from '@tidemark/ports';
import { SHARED_TEXT_MIN_CHARS } from './limits.ts';

type Event = LogEntry & { readonly kind: 'event' };

export class ContextRows {
  readonly #digest: Digest;
  readonly #fragments: FragmentRow[] = [];
  readonly #texts = new Map<string, TextRow>();
  readonly #scopes: ScopeRow[] = [];
  readonly #spends = new Map<string, SpendRow>();
  readonly #sessions: SessionRow[] = [];
  readonly #memories: MemoryRow[] = [];

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  /** Undefined when nothing was brought. */
  batch(): ContextBatch | undefined {
    const isEmpty =
      this.#fragments.length === 0 &&
      this.#texts.size === 0 &&
      this.#scopes.length === 0 &&
      this.#spends.size === 0 &&
      this.#sessions.length === 0;
    if (isEmpty) return undefined;
    return {
      fragments: this.#fragments,
      texts: [...this.#texts.values()],
      scopes: this.#scopes,
      spends: [...this.#spends.values()],
      sessions: this.#sessions,
    };
  }

  /** Changes of long-term memory, in order. */
  get memories(): readonly MemoryRow[] {
    return this.#memories;
  }

  /** Follows an accepted event; `stream` is as it is after the event. */
  add(stream: StreamState, entry: Event): void {
    const { envelope } = entry;
    const { workflow, tenant } = envelope;
    switch (envelope.type) {
      case 'WorkflowOpened': {
        const { session, user, hasContext } = envelope.control;
        if (session !== undefined) {
          this.#sessions.push({ tenant, session, workflow, user: user ?? null, lamport: envelope.lamport });
        }
        if (hasContext) this.#addFragments(workflow, 0 as Sequence, opened('WorkflowOpened', entry)?.fragments);
        return;
      }
      case 'EffectIntended': {
        const { model, key, hasContext } = envelope.control;
        if (model !== undefined) this.#spend(stream, key, envelope.atMs, model.reserved);
        if (!hasContext) return;
        for (const [digest, text] of Object.entries(opened('EffectIntended', entry)?.texts ?? {})) {
          this.#addText(workflow, digest, text);
        }
        return;
      }
      case 'EffectResolved': {
        const { spent, key, hasContext } = envelope.control;
        if (spent !== undefined) this.#spend(stream, key, envelope.atMs, spent);
        if (hasContext) this.#addAnswer(workflow, opened('EffectResolved', entry));
        return;
      }
      case 'CheckpointCommitted':
        if (envelope.control.hasContext) {
          const payload = opened('CheckpointCommitted', entry);
          this.#addCheckpoint(workflow, envelope.control.sequence, payload);
          this.#addMemories(stream, envelope, payload?.memories);
        }
        return;
      case 'MemoryWritten':
        this.#addMemories(stream, envelope, opened('MemoryWritten', entry)?.memories);
        return;
      default:
    }
  }

  #spend(stream: StreamState, key: string, atMs: number, { tokens, costMicros }: Spend): void {
    const { workflow, tenant, user = null } = stream;
    const rowKey = `${workflow}\0${key}`;
    const reservedMs = this.#spends.get(rowKey)?.atMs ?? atMs;
    this.#spends.set(rowKey, { workflow, key, tenant, user, atMs: reservedMs, tokens, costMicros });
  }

  #addCheckpoint(workflow: WorkflowId, sequence: Sequence, payload: Payloads['CheckpointCommitted'] | undefined): void {
    this.#addFragments(workflow, sequence, payload?.fragments);
    const scope = payload?.scope;
    if (scope === undefined) return;
    this.#scopes.push({ workflow, sequence, isWhole: 'carried' in scope, change: JSON.stringify(scope) });
  }

  #addMemories({ position }: StreamState, envelope: Envelope, writes: readonly MemoryWrite[] = []): void {
    const { tenant, workflow, lamport, atMs } = envelope;
    for (const [ordinal, { subject, kind, key, value, words = '', source = '' }] of writes.entries()) {
      const isForgotten = value === undefined;
      this.#memories.push({
        ...{ tenant, subject, kind, key, source, atMs, workflow, position, ordinal, lamport, isForgotten },
        value: isForgotten ? 'null' : JSON.stringify(value),
        words: isForgotten ? '' : words,
      });
    }
  }

  #addFragments(workflow: WorkflowId, sequence: Sequence, fragments: readonly StoredFragment[] = []): void {
    for (const [index, { type, text, digest: known, call, tool, covers }] of fragments.entries()) {
      const digest = text === undefined ? known : this.#digest.sha256(text);
      if (digest === undefined) continue;
      if (text !== undefined) this.#addText(workflow, digest, text);
      const row = { workflow, sequence, index, type, digest };
      this.#fragments.push({ ...row, call: call ?? null, tool: tool ?? null, covers: covers ?? null });
    }
  }

  /** A model's answer, which the fragment that a step makes of it only names. */
  #addAnswer(workflow: WorkflowId, payload: Payloads['EffectResolved'] | undefined): void {
    const text = answerText(payload);
    if (text !== undefined) this.#addText(workflow, this.#digest.sha256(text), text);
  }

  #addText(workflow: WorkflowId, digest: Sha256, text: string): void {
    this.#texts.set(`${workflow}\0${digest}`, { workflow, digest, text });
  }
}

/** The text of a recorded answer that fragments may name. */
export function answerText(payload: Payloads['EffectResolved'] | undefined): string | undefined {
  if (payload === undefined || !('response' in payload)) return undefined;
  const { response } = payload;
  const text = typeof response === 'object' && response !== null && 'text' in response ? response.text : undefined;
  return typeof text === 'string' && text.length >= SHARED_TEXT_MIN_CHARS ? text : undefined;
}

/** What isn't readable brings nothing: it must not stop the projection of all else. */
function opened<T extends EventType>(type: T, { payload }: Event): Payloads[T] | undefined {
  try {
    return decodePayload(type, payload);
  } catch {
    return undefined;
  }
}

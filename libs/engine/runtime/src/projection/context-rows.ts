/**
 * Owns the rows that follow from the parts of payloads that are a workflow's context: fragments, texts, working memory, spends, sessions.
 * The projector parses only payloads whose control says that they have such parts. Pure, like the projection that it belongs to (I5).
 */

import { decodePayload } from '@tidemark/codec';
import {
  type EffectKey,
  type EffectState,
  type Envelope,
  type EventEntry,
  isOpen,
  isReplay,
  NO_SPEND,
  plusSpend,
  type Sequence,
  type Sha256,
  type Spend,
  type StreamState,
  type TaskId,
  unknownSpend,
  type WorkflowId,
} from '@tidemark/core';
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
import { answerTexts, fragmentsIn, memoriesIn, SHARED_TEXT_MIN_CHARS, scopeIn, textsIn } from '../history/index.ts';
import { storableText } from '../kernel/index.ts';

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

  /** Undefined: there are no such rows. */
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

  /** Applies an accepted event; `stream` is the state after it. `isOmitted`: no rows of the workflow's bundles are wanted. */
  add(stream: StreamState, entry: EventEntry, isOmitted = false): void {
    const { envelope } = entry;
    const { workflow, tenant } = envelope;
    switch (envelope.type) {
      case 'WorkflowOpened': {
        const { session, user, hasContext } = envelope.control;
        if (session !== undefined) {
          this.#sessions.push({ tenant, session, workflow, user: user ?? null, lamport: envelope.lamport });
        }
        if (hasContext && !isOmitted) this.#addFragments(workflow, 0 as Sequence, opened(entry));
        return;
      }
      case 'EffectIntended': {
        const { model, key, hasContext } = envelope.control;
        if (model !== undefined) this.#spend(stream, envelope.control.task, key, envelope.atMs);
        if (!hasContext || isOmitted) return;
        for (const [digest, text] of textsIn(opened(entry))) this.#addText(workflow, digest, text);
        return;
      }
      case 'EffectResolved': {
        const { spent, key, hasContext } = envelope.control;
        if (spent !== undefined) this.#spend(stream, envelope.control.task, key, envelope.atMs);
        if (hasContext && !isOmitted) this.#addAnswer(workflow, opened(entry));
        return;
      }
      case 'CheckpointCommitted':
        if (envelope.control.hasContext) {
          const payload = opened(entry);
          if (!isOmitted) this.#addCheckpoint(workflow, envelope.control.sequence, payload);
          this.#addMemories(stream, envelope, payload);
        }
        return;
      case 'ApprovalDecided':
      case 'EffectConfirmed':
        for (const { id, effects } of stream.frontier.tasks) {
          for (const { key } of effects) this.#spend(stream, id, key, envelope.atMs);
        }
        return;
      case 'CompensationStarted':
        if (envelope.control.hasContext) this.#addMemories(stream, envelope, opened(entry));
        return;
      case 'WorkflowFailed':
        if (envelope.control.hasContext) this.#addMemories(stream, envelope, opened(entry));
        this.#release(stream, envelope.atMs);
        return;
      case 'WorkflowCompleted':
      case 'WorkflowTerminated':
      case 'WorkflowReset':
      case 'CompensationFinished':
        this.#release(stream, envelope.atMs);
        return;
      case 'MemoryWritten':
        this.#addMemories(stream, envelope, opened(entry));
        return;
      default:
    }
  }

  /** The spend of the call, by the stream's state: what it cost and wasted, or what it reserves. */
  #spend(stream: StreamState, task: TaskId, key: EffectKey, atMs: number): void {
    const effect = stream.frontier.tasks.get(task)?.effects.find((one) => one.key === key);
    if (effect?.spend === undefined) return;
    this.#putSpend(stream, effect, atMs, isOpen(effect) ? effect.spend : NO_SPEND, !isOpen(effect));
  }

  /** No call is running any more: nobody will learn what those under way have cost. */
  #release(stream: StreamState, atMs: number): void {
    for (const { effects } of stream.frontier.tasks) {
      for (const effect of effects) {
        if (effect.spend !== undefined && isOpen(effect))
          this.#putSpend(stream, effect, atMs, unknownSpend(effect.spend), true);
      }
    }
  }

  /** A fork that replays pays nothing. */
  #putSpend(stream: StreamState, effect: EffectState, atMs: number, reserved: Spend, isSettled: boolean): void {
    if (isReplay(stream)) return;
    const { workflow, tenant, user = null } = stream;
    const { key, wasted = NO_SPEND, spend = NO_SPEND } = effect;
    const own = isOpen(effect) ? reserved : spend;
    const rowKey = `${workflow}\0${key}`;
    const reservedMs = this.#spends.get(rowKey)?.atMs ?? atMs;
    this.#spends.set(rowKey, {
      ...{ workflow, key, tenant, user, atMs: reservedMs, isSettled },
      ...plusSpend(own, wasted),
    });
  }

  #addCheckpoint(workflow: WorkflowId, sequence: Sequence, payload: unknown): void {
    this.#addFragments(workflow, sequence, payload);
    const scope = scopeIn(payload);
    if (scope === undefined) return;
    this.#scopes.push({ workflow, sequence, isWhole: 'carried' in scope, change: JSON.stringify(scope) });
  }

  /** A fork that replays writes no long-term memory. */
  #addMemories(stream: StreamState, envelope: Envelope, payload: unknown): void {
    if (isReplay(stream)) return;
    const { position } = stream;
    const { tenant, workflow, lamport, atMs } = envelope;
    for (const [ordinal, write] of memoriesIn(payload).entries()) {
      if (write === undefined) continue;
      const { kind, value } = write;
      const [subject, key, words, source] = [write.subject, write.key, write.words ?? '', write.source ?? ''].map(
        storableText,
      ) as [string, string, string, string];
      const isForgotten = value === undefined;
      this.#memories.push({
        ...{ tenant, subject, kind, key, source, atMs, workflow, position, ordinal, lamport, isForgotten },
        value: isForgotten ? 'null' : JSON.stringify(value),
        words: isForgotten ? '' : words,
      });
    }
  }

  #addFragments(workflow: WorkflowId, sequence: Sequence, payload: unknown): void {
    for (const [index, fragment] of fragmentsIn(payload).entries()) {
      if (fragment === undefined) continue;
      const { type, call, tool, covers, parts } = fragment;
      const digest = this.#named(workflow, fragment);
      if (digest === undefined) continue;
      const partsDigest = parts && this.#named(workflow, parts);
      this.#fragments.push({
        ...{ workflow, sequence, index, type, digest, call: call ?? null, tool: tool ?? null, covers: covers ?? null },
        parts: partsDigest ? { provider: parts!.provider, spans: parts!.spans, digest: partsDigest } : null,
      });
    }
  }

  #named(workflow: WorkflowId, { text, digest }: { readonly text?: string; readonly digest?: Sha256 }) {
    return text === undefined ? digest : this.#shared(workflow, text);
  }

  /** A model's answer, whose texts its fragments name by their digests. */
  #addAnswer(workflow: WorkflowId, payload: unknown): void {
    for (const text of answerTexts(payload, SHARED_TEXT_MIN_CHARS)) this.#shared(workflow, text);
  }

  #shared(workflow: WorkflowId, text: string): Sha256 {
    const digest = this.#digest.sha256(text);
    this.#addText(workflow, digest, text);
    return digest;
  }

  #addText(workflow: WorkflowId, digest: Sha256, text: string): void {
    this.#texts.set(`${workflow}\0${digest}`, { workflow, digest, text: storableText(text) });
  }
}

/** An unreadable payload yields nothing, and must not stop the projection. */
function opened({ envelope, payload }: EventEntry): unknown {
  try {
    return decodePayload(envelope.type, payload);
  } catch {
    return undefined;
  }
}

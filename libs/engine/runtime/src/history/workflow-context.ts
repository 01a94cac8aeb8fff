/**
 * Owns what a holder knows of its workflow's context: fragments, texts, trace and working memory at any checkpoint. Up to the claim they
 * come from rows, read when a step first needs them; after it from the checkpoints that this holder folds. A bundle is collected in the
 * same way for a call made now and for one made long ago (I8). It does not assemble bundles.
 *
 * For a fork, reads cover the shared history as well (see lineage.ts), where sequences are greater than the fork's own by `shift`. Callers
 * pass own sequences.
 */

import type { ForkOrigin, Payloads, ScopeChange, StoredFragment } from '@tidemark/codec';
import {
  CorruptError,
  type CoveredRange,
  comparePlaces,
  type Fragment,
  type FragmentPlace,
  type Sequence,
  type Sha256,
  type WorkflowId,
} from '@tidemark/core';
import type { ContextStore, Digest, FragmentWithText, ScopeRow, TraceEntry } from '@tidemark/ports';
import { changedScope, emptyScope, type FragmentDraft, type Scope } from '../definition/index.ts';
import { SHARED_TEXT_MIN_CHARS } from './limits.ts';
import { shiftedRange, shiftOf } from './lineage.ts';

export type ContextReads = Pick<ContextStore, 'fragments' | 'texts' | 'trace' | 'scopes'>;

/** A checkpoint committed since the claim; its sequence is that of the view, as in reads. */
interface TailEntry {
  readonly sequence: Sequence;
  readonly step: string;
  readonly action: string;
  readonly fragments: readonly StoredFragment[];
  readonly scope: ScopeChange | undefined;
}

export interface Trace {
  readonly recent: readonly TraceEntry[];
  readonly earlier: Readonly<Record<string, number>>;
}

export class WorkflowContext {
  /** The newest checkpoint that rows are known to have: the head at the claim. */
  readonly #base: Sequence;
  readonly #digest: Digest;
  readonly #tail: TailEntry[] = [];
  /** Texts that the workflow is known to have. */
  readonly #texts = new Map<Sha256, string>();
  #fork: ForkOrigin | undefined;
  #shift = 0;
  #loaded: Promise<readonly Fragment[]> | undefined;
  #scopes: Promise<readonly ScopeRow[]> | undefined;

  constructor(base: Sequence, digest: Digest) {
    this.#base = base;
    this.#digest = digest;
  }

  /** Undefined: the workflow is no fork. */
  get fork(): ForkOrigin | undefined {
    return this.#fork;
  }

  /** Applies the opening of a fork. */
  forkedFrom(fork: ForkOrigin): void {
    this.#fork = fork;
    this.#shift = shiftOf(fork);
  }

  /** Applies a checkpoint. */
  committed(
    control: { readonly sequence: Sequence; readonly step: string; readonly lastAction: string },
    payload: Payloads['CheckpointCommitted'],
  ): void {
    if (control.sequence <= this.#base) return;
    const { fragments = [], scope } = payload;
    this.#keepAll(fragments);
    const { step, lastAction: action } = control;
    this.#tail.push({ sequence: this.#countedOn(control.sequence), step, action, fragments, scope });
  }

  /** Applies the opening, if it is folded and not read from rows. */
  opened(fragments: readonly StoredFragment[] = []): void {
    if (this.#base > 0 || this.#fork !== undefined || this.#tail.some(({ sequence }) => sequence === 0)) return;
    this.#keepAll(fragments);
    this.#tail.push({ sequence: 0 as Sequence, step: '', action: '', fragments, scope: undefined });
  }

  #countedOn(own: Sequence): Sequence {
    return (own + this.#shift) as Sequence;
  }

  #keepAll(fragments: readonly (StoredFragment | Fragment)[]): void {
    for (const { text, parts } of fragments) {
      if (text !== undefined) this.keep(text);
      if (parts?.text !== undefined) this.keep(parts.text);
    }
  }

  /** Records that the workflow has this text in an event. */
  keep(text: string): void {
    if (text.length >= SHARED_TEXT_MIN_CHARS) this.#texts.set(this.#digest.sha256(text), text);
  }

  /** The same for a text with a known name. */
  keepNamed(name: string, text: string): void {
    this.#texts.set(name, text);
  }

  has(digest: Sha256): boolean {
    return this.#texts.has(digest);
  }

  /** Finds out which of these texts the workflow has. */
  async learn(reads: Pick<ContextReads, 'texts'>, workflow: WorkflowId, digests: readonly Sha256[]): Promise<void> {
    const unknown = digests.filter((digest) => !this.#texts.has(digest));
    if (this.#base === 0 || unknown.length === 0) return;
    for (const { digest, text } of await reads.texts(workflow, unknown)) this.#texts.set(digest, text);
  }

  /** Fragments in their stored form: a text that the workflow already has is replaced by its digest. */
  async stored(
    reads: ContextReads,
    workflow: WorkflowId,
    drafts: readonly FragmentDraft[],
  ): Promise<readonly StoredFragment[]> {
    const texts = drafts.flatMap(({ text, parts }) => [text, ...(parts === undefined ? [] : [parts.text])]);
    const long = texts.filter((text) => text.length >= SHARED_TEXT_MIN_CHARS);
    const digests = new Map(long.map((text) => [text, this.#digest.sha256(text)]));
    await this.learn(reads, workflow, [...new Set(digests.values())]);
    const inThis = new Set<Sha256>();
    const named = (text: string): { readonly text: string } | { readonly digest: Sha256 } => {
      const digest = digests.get(text);
      if (digest === undefined) return { text };
      if (this.#texts.has(digest) || inThis.has(digest)) return { digest };
      inThis.add(digest);
      return { text };
    };
    return drafts.map(({ text, parts, ...given }) => ({
      ...given,
      ...(given.covers && { covers: shiftedRange(given.covers, -this.#shift) }),
      ...named(text),
      ...(parts && { parts: { provider: parts.provider, spans: parts.spans, ...named(parts.text) } }),
    }));
  }

  /** Fragments up to the checkpoint, in order of their places, without those that a summary covers. */
  async fragments(reads: ContextReads, workflow: WorkflowId, upTo: Sequence): Promise<readonly Fragment[]> {
    const folded = new Set(this.#tail.map(({ sequence }) => sequence));
    const older = (await this.#older(reads, workflow, upTo)).filter(({ sequence }) => !folded.has(sequence));
    const tail = this.#tail.filter((entry) => entry.sequence <= this.#countedOn(upTo));
    const newer = await Promise.all(tail.map((entry) => this.#inTail(reads, workflow, entry)));
    return uncovered([...older, ...newer.flat()]);
  }

  #older(reads: ContextReads, workflow: WorkflowId, upTo: Sequence): Promise<readonly Fragment[]> {
    const read = async (at: Sequence): Promise<readonly Fragment[]> =>
      (await reads.fragments(workflow, at)).map((row) => fragmentIn(0, row));
    if (upTo < this.#base) return read(upTo);
    this.#loaded ??= read(this.#base).then(
      (fragments) => {
        // The text of a shared fragment belongs to another workflow.
        this.#keepAll(fragments.filter(({ sequence }) => this.#fork === undefined || sequence > this.#shift));
        return fragments;
      },
      (error: unknown) => {
        this.#loaded = undefined;
        throw error;
      },
    );
    return this.#loaded;
  }

  async #inTail(reads: ContextReads, workflow: WorkflowId, entry: TailEntry): Promise<readonly Fragment[]> {
    const named = entry.fragments
      .flatMap(({ digest, parts }) => [digest, parts?.digest])
      .filter((digest) => digest !== undefined)
      .filter((digest) => !this.#texts.has(digest));
    if (named.length > 0) {
      for (const { digest, text } of await reads.texts(workflow, named)) this.#texts.set(digest, text);
    }
    return entry.fragments.map((stored, index) => {
      const textOf = ({ digest, text = this.#texts.get(digest ?? '') }: Pick<StoredFragment, 'text' | 'digest'>) => {
        if (text === undefined) throw textMissing(workflow, entry.sequence, index);
        return { text, digest: digest ?? this.#digest.sha256(text) };
      };
      const { parts } = stored;
      return fragmentIn(0, {
        sequence: entry.sequence,
        index,
        type: stored.type,
        ...textOf(stored),
        parts: parts === undefined ? null : { provider: parts.provider, spans: parts.spans, ...textOf(parts) },
        call: stored.call ?? null,
        tool: stored.tool ?? null,
        covers: stored.covers === undefined ? null : shiftedRange(stored.covers, this.#shift),
      });
    });
  }

  /** The last `count` checkpoints up to this one, and the number of earlier ones by step. */
  async trace(reads: ContextReads, workflow: WorkflowId, upTo: Sequence, count: number): Promise<Trace> {
    const newer = this.#tail.filter(({ sequence }) => sequence > 0 && sequence <= this.#countedOn(upTo));
    const rowsTo = (upTo < this.#base ? upTo : this.#base) as Sequence;
    const isFirst = rowsTo === 0 && this.#fork === undefined;
    const older: Trace = isFirst ? { recent: [], earlier: {} } : await reads.trace(workflow, rowsTo, count);
    const all = [...older.recent, ...newer.map(({ sequence, step, action }) => ({ sequence, step, action }))];
    const earlier: Record<string, number> = { ...older.earlier };
    for (const { step } of all.slice(0, Math.max(0, all.length - count))) earlier[step] = (earlier[step] ?? 0) + 1;
    return { recent: all.slice(Math.max(0, all.length - count)), earlier };
  }

  #scopeRows(reads: ContextReads, workflow: WorkflowId, upTo: Sequence): Promise<readonly ScopeRow[]> {
    if (upTo < this.#base) return reads.scopes(workflow, upTo);
    this.#scopes ??= reads.scopes(workflow, this.#base).catch((error: unknown) => {
      this.#scopes = undefined;
      throw error;
    });
    return this.#scopes;
  }

  /** Working memory after the checkpoint; `since`: the one whose hand-over began its phase, as places of fragments count it. */
  async scope(
    reads: ContextReads,
    workflow: WorkflowId,
    upTo: Sequence,
    firstPhase: string,
  ): Promise<Scope & { readonly since?: Sequence }> {
    const rowsTo = (upTo < this.#base ? upTo : this.#base) as Sequence;
    const isFirst = rowsTo === 0 && this.#fork === undefined;
    const rows = isFirst ? [] : await this.#scopeRows(reads, workflow, rowsTo);
    const changes = rows.map(({ sequence, change }) => ({ sequence, scope: JSON.parse(change) as ScopeChange }));
    const to = this.#countedOn(upTo);
    for (const { sequence, scope } of this.#tail)
      if (scope !== undefined && sequence <= to) changes.push({ sequence, scope });
    const since = changes.findLast(({ scope }) => 'carried' in scope)?.sequence;
    const scope = changes.reduce((before, change) => changedScope(before, change.scope), emptyScope(firstPhase));
    return { ...scope, ...(since !== undefined && { since }) };
  }
}

/** A row as a fragment; `run` counts back through the runs of the session, 0 for the current one. */
export function fragmentIn(run: number, row: FragmentWithText): Fragment {
  const { call, tool, covers, parts, ...rest } = row;
  return {
    ...rest,
    run,
    ...(call !== null && { call }),
    ...(tool !== null && { tool }),
    ...(covers !== null && { covers: shifted(covers, run) }),
    ...(parts !== null && { parts }),
  };
}

const shifted = ({ from, to }: CoveredRange, run: number): CoveredRange => ({
  from: { ...from, run: from.run + run },
  to: { ...to, run: to.run + run },
});

const DIRECTIVES: readonly string[] = ['task_goal', 'constraint', 'summary', 'checkpoint_note'];

/** Without fragments that the newest summary covers; rows omit the same ones. */
function uncovered(fragments: readonly Fragment[]): readonly Fragment[] {
  const to: FragmentPlace | undefined = fragments.findLast(({ covers }) => covers?.to.run === 0)?.covers?.to;
  if (to === undefined) return fragments;
  return fragments.filter((one) => DIRECTIVES.includes(one.type) || comparePlaces(one, to) > 0);
}

const textMissing = (workflow: WorkflowId, sequence: Sequence, index: number): CorruptError =>
  new CorruptError(
    'text-missing',
    `Workflow ${workflow}: the text of its fragment ${sequence}.${index} is nowhere in its events. Rebuild the rows from the log.`,
    { workflow, sequence, index },
  );

/**
 * Owns readers of what models say in one workflow: the recorded answers from the log, in order, and between them the pieces of calls that
 * are open. Two forms: events of this API, and the UI message stream of the AI SDK. Must not decide which pieces count.
 *
 * A reader that has caught up with the log takes pieces from memory at its own pace, so one that is slow holds nothing for itself; when the
 * pieces that it needs next are gone, it is cut off and told from where to resume. What is recorded stands above what was shown.
 */

import { LimitError, type WorkflowId } from '@tidemark/core';
import { isAfter, type MessagePlace } from '@tidemark/ports';
import type { Problem } from '../problem.ts';
import type { Feed, Follower, SentEvent, SettledCall } from './feed.ts';
import { idOf, type Piece, type PieceListener, type RunPieces } from './pieces.ts';
import { type EventSink, eventBytes, type SinkForm } from './sink.ts';

/** Outcomes that wait until the call before them in a UI message has its own, at most; beyond it that call is shown later, as a whole. */
const HELD_MAX_COUNT = 100;

export interface ReaderOptions {
  readonly sink: EventSink;
  readonly whose: string | null;
  readonly pieces: RunPieces;
  /** What it has already. */
  readonly has: { readonly position: number; readonly place: MessagePlace };
}

abstract class AnswerReader implements Follower, PieceListener {
  readonly sink: EventSink;
  readonly whose: string | null;
  next: number;
  protected readonly pieces: RunPieces;
  protected place: MessagePlace;
  /** Pieces after those that it had are gone. */
  protected hasGap = false;
  #isLive = false;
  #isWaiting = false;

  constructor({ sink, whose, pieces, has }: ReaderOptions) {
    this.sink = sink;
    this.whose = whose;
    this.pieces = pieces;
    this.next = has.position + 1;
    this.place = has.place;
  }

  protected abstract take(piece: Piece): void;
  protected abstract settle(call: SettledCall): void;
  /** Whether it shows a call that has no outcome yet. */
  protected abstract readonly isShowing: boolean;
  abstract end(position: number): void;
  abstract note(bytes: Buffer): void;

  event(event: SentEvent): void {
    const { settled } = event;
    if (settled === undefined) return;
    this.settle(settled);
    this.pieces.settled(settled.call);
  }

  onLive(feed: Feed): void {
    this.pieces.feed = feed;
    this.#isLive = true;
    this.pieces.listeners.add(this);
    this.sink.closed.addEventListener('abort', () => this.pieces.listeners.delete(this), { once: true });
    this.pump();
  }

  pump(): void {
    const { pieces, sink } = this;
    while (this.#isLive && !this.#isWaiting && !sink.closed.aborted) {
      if (isAfter(pieces.floor, this.place)) {
        if (this.isShowing && this.place.epoch === pieces.floor.epoch) {
          this.#isLive = false;
          sink.fail(tooSlow(idOf(this.next - 1, this.place)), undefined);
          return;
        }
        this.place = pieces.floor;
        this.hasGap = true;
      }
      const piece = pieces.after(this.place);
      if (piece === undefined) return;
      if (sink.isFull) {
        this.#isWaiting = true;
        // In a later turn: a connection that says too early that it takes more may hold up nobody.
        void sink.drained().then(() =>
          setImmediate(() => {
            this.#isWaiting = false;
            this.pump();
          }),
        );
        return;
      }
      this.place = { epoch: piece.delta.epoch, number: piece.delta.number };
      if (pieces.isLive(piece.delta)) this.take(piece);
    }
  }
}

const tooSlow = (id: string): LimitError =>
  new LimitError(
    'reader-slow',
    `You read more slowly than the answer comes, and the next pieces are gone. Connect again with from=${id}: what is recorded comes whole.`,
  );

/** Receives pieces and answers as events. */
export class PieceReader extends AnswerReader {
  /** The attempt that it has from its beginning, of each open call. */
  readonly #shown = new Map<string, number>();
  readonly #resumedEpoch: number;

  constructor(options: ReaderOptions) {
    super(options);
    this.#resumedEpoch = options.has.place.epoch;
  }

  protected get isShowing(): boolean {
    return this.#shown.size > 0;
  }

  protected take({ delta: { kind, call, attempt, epoch }, bytes }: Piece): void {
    const shown = this.#shown.get(call);
    // A reader that had all before it gets the rest of a call.
    const resumes = shown === undefined && epoch === this.#resumedEpoch && !this.hasGap;
    if (kind === 'reset' || resumes) this.#shown.set(call, attempt);
    else if (shown !== attempt) return;
    this.sink.write(bytes);
  }

  protected settle({ call, task, position, answer }: SettledCall): void {
    this.#shown.delete(call);
    const id = idOf(position, this.place);
    if (answer === undefined) {
      this.sink.write(eventBytes('reset', JSON.stringify({ task, call, attempt: position, index: 0 }), id));
      return;
    }
    const { text, toolCalls, finishReason } = answer;
    const said = { task, call, text, tool_calls: toolCalls, finish_reason: finishReason };
    this.sink.write(eventBytes('answer', JSON.stringify(said), id));
  }

  note(bytes: Buffer): void {
    this.sink.writeUnlessBusy(bytes);
  }

  end(position: number): void {
    this.sink.write(eventBytes('end', JSON.stringify({ position })));
    this.sink.end();
  }
}

const uiBytes = (chunk: object): Buffer => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);

/** The AI SDK's UI message stream, version 1. */
export const UI_MESSAGE_FORM: SinkForm = {
  headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
  problem: ({ detail }: Problem) => uiBytes({ type: 'error', errorText: detail }),
};

/** What a UI message shows of the call that has no outcome yet. */
interface Current {
  readonly call: string;
  readonly attempt: number;
  /** Of the text that it has sent. */
  chars: number;
  toolCallCount: number;
  /** The part that is open. */
  part: { readonly id: string; readonly kind: 'text' | 'reasoning' } | undefined;
  hasParts: boolean;
}

/**
 * Receives one message, in which each call is a step. Steps can't overlap, so of calls that run side by side one is shown as it comes, and
 * the next once that has its outcome. Each connection gets the message from its beginning, which is how the AI SDK resumes.
 */
export class UiMessageReader extends AnswerReader {
  #current: Current | undefined;
  #held: SettledCall[] = [];
  #isInStep = false;
  #hasFailed = false;

  constructor(options: ReaderOptions, workflow: WorkflowId) {
    super(options);
    this.#send({ type: 'start', messageId: workflow });
  }

  protected get isShowing(): boolean {
    return this.#current !== undefined;
  }

  override event(event: SentEvent): void {
    if (event.type === 'WorkflowFailed') this.#hasFailed = true;
    super.event(event);
  }

  protected take(piece: Piece): void {
    const { kind, call, attempt, text, toolCall } = piece.delta;
    if (kind === 'reset') {
      if (this.#current !== undefined && this.#current.call !== call) return;
      this.#begin(call, attempt);
      return;
    }
    const current = this.#current;
    if (current?.call !== call || current.attempt !== attempt) return;
    if (kind === 'tool-call') {
      if (toolCall !== undefined) this.#toolCall(current, toolCall);
      return;
    }
    this.#open(current, { id: piece.part, kind });
    if (kind === 'text') current.chars += text?.length ?? 0;
    this.sink.write(piece.uiBytes(() => uiBytes({ type: `${kind}-delta`, id: piece.part, delta: text })));
  }

  /** An attempt at the call: what an earlier one has shown is taken back. */
  #begin(call: string, attempt: number): void {
    this.#reset();
    if (!this.#isInStep) this.#send({ type: 'start-step' });
    this.#isInStep = true;
    this.#current = { call, attempt, chars: 0, toolCallCount: 0, part: undefined, hasParts: false };
  }

  #reset(): void {
    if (this.#current?.hasParts === true) this.#send({ type: 'reset-step' });
    this.#current = undefined;
  }

  protected settle(settled: SettledCall): void {
    if (this.#current !== undefined && this.#current.call !== settled.call) {
      if (settled.answer !== undefined) this.#held.push(settled);
      if (this.#held.length <= HELD_MAX_COUNT) return;
      this.#reset();
    } else this.#finish(settled);
    for (const each of this.#held.splice(0)) this.#finish(each);
    // Calls that began meanwhile were passed over.
    this.place = this.pieces.floor;
    this.pump();
  }

  #finish({ call, position, answer }: SettledCall): void {
    if (answer === undefined) {
      this.#reset();
      return;
    }
    const { text, toolCalls } = answer;
    const shown = this.#shownOf(answer);
    if (shown === undefined) this.#begin(call, position);
    const current = this.#current!;
    if (text.length > current.chars) {
      this.#open(current, { id: current.part?.kind === 'text' ? current.part.id : `${position}.text`, kind: 'text' });
      this.#send({ type: 'text-delta', id: current.part!.id, delta: text.slice(current.chars) });
    }
    for (const toolCall of toolCalls.slice(current.toolCallCount)) this.#toolCall(current, toolCall);
    this.#close(current);
    this.#send({ type: 'finish-step' });
    this.#isInStep = false;
    this.#current = undefined;
  }

  /** What it shows of the call, if that is how the recorded answer begins. */
  #shownOf({ text, toolCalls }: NonNullable<SettledCall['answer']>): Current | undefined {
    const current = this.#current;
    if (current === undefined || current.toolCallCount > toolCalls.length) return undefined;
    const said = current.chars === 0 ? '' : this.pieces.textOf(current.call, current.attempt);
    return said !== undefined && text.startsWith(said.slice(0, current.chars)) ? current : undefined;
  }

  #toolCall(current: Current, { id, name, input }: NonNullable<Piece['delta']['toolCall']>): void {
    this.#close(current);
    current.toolCallCount++;
    current.hasParts = true;
    // The run calls its tools itself; the page must not.
    // The page knows a call by its id alone, and some providers give none.
    const toolCallId = id === '' ? `${current.call}:${current.toolCallCount}` : id;
    this.#send({ type: 'tool-input-available', toolCallId, toolName: name, input, providerExecuted: true });
  }

  #open(current: Current, part: NonNullable<Current['part']>): void {
    if (current.part?.id === part.id) return;
    this.#close(current);
    this.#send({ type: `${part.kind}-start`, id: part.id });
    current.part = part;
    current.hasParts = true;
  }

  #close(current: Current): void {
    if (current.part !== undefined) this.#send({ type: `${current.part.kind}-end`, id: current.part.id });
    current.part = undefined;
  }

  #send(chunk: object): void {
    this.sink.write(uiBytes(chunk));
  }

  note(): void {}

  end(): void {
    this.#reset();
    if (this.#isInStep) this.#send({ type: 'finish-step' });
    this.#send({ type: 'finish', finishReason: this.#hasFailed ? 'error' : 'stop' });
    this.sink.write(Buffer.from('data: [DONE]\n\n'));
    this.sink.end();
  }
}

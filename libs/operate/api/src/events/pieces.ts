/**
 * Owns what models say in followed workflows, as it comes: one subscription per workflow, and its pieces in memory once, however many read.
 * It decides which pieces count. It stores none for longer than the call is open: the answer is in the log.
 *
 * Invariants: pieces of an older lease never come after those of a newer one; none comes of a call whose outcome the log has; a call of
 * which a piece is missing says nothing more until its next attempt.
 */

import type { WorkflowId } from '@tidemark/core';
import { isAfter, type MessagePlace, WATCH_KEPT_IN_MEMORY_MAX_BYTES, WATCH_KEPT_MAX_BYTES } from '@tidemark/ports';
import type { CallDelta, Client, ModelChunk } from '@tidemark/runtime';
import type { Feed } from './feed.ts';
import { eventBytes } from './sink.ts';

/** One piece, encoded once for all readers. */
export class Piece {
  readonly task: string | null;
  readonly delta: CallDelta;
  readonly bytes: Buffer;
  /** Names the stretch of pieces of one kind to which it belongs. */
  readonly part: string;
  #uiBytes: Buffer | undefined;

  constructor(task: string | null, delta: CallDelta, { part, position }: { part: string; position: number }) {
    this.task = task;
    this.delta = delta;
    this.part = part;
    const { kind, call, attempt, index, text, toolCall, epoch, number } = delta;
    const said = { task, call, attempt, index, ...(kind !== 'reset' && { kind, text, tool_call: toolCall }) };
    const id = idOf(position, { epoch, number });
    this.bytes = eventBytes(kind === 'reset' ? 'reset' : 'delta', JSON.stringify(said), id);
  }

  /** In another form, made when first wanted. */
  uiBytes(make: () => Buffer): Buffer {
    this.#uiBytes ??= make();
    return this.#uiBytes;
  }
}

/** What a reader has: all outcomes up to a position, and all pieces up to a place. */
export const idOf = (position: number, { epoch, number }: MessagePlace): string => `${position}.${epoch}.${number}`;

export interface PieceListener {
  /** There is more. */
  pump(): void;
  note(bytes: Buffer): void;
}

/** The pieces of one workflow's open calls. */
export class RunPieces {
  readonly listeners = new Set<PieceListener>();
  readonly #room: PieceRoom;
  #pieces: Piece[] = [];
  #bytes = 0;
  #last: MessagePlace = { epoch: 0, number: 0 };
  /** Pieces of the newest lease up to this number may be gone. */
  #floor = 0;
  /** What comes next of each call; none of one that lacks a piece. */
  readonly #next = new Map<string, { readonly attempt: number; readonly index: number; readonly part: string }>();
  feed: Feed | undefined;

  constructor(room: PieceRoom) {
    this.#room = room;
  }

  get floor(): MessagePlace {
    return { epoch: this.#last.epoch, number: this.#floor };
  }

  take({ task, delta }: ModelChunk): void {
    if (!('call' in delta)) {
      const { kind, ...note } = delta;
      const bytes = eventBytes(kind, JSON.stringify({ task, ...note }));
      for (const listener of this.listeners) listener.note(bytes);
      return;
    }
    if (!isAfter(delta, this.#last) || delta.epoch < (this.feed?.epoch ?? 0)) return;
    if (delta.epoch > this.#last.epoch) {
      this.clear();
      this.#floor = delta.number - 1;
    }
    this.#last = { epoch: delta.epoch, number: delta.number };
    if (!this.isLive(delta)) return;
    const part = this.#follows(delta);
    if (part === undefined) return;
    if (delta.kind === 'reset') this.#keep((piece) => this.isLive(piece.delta) && piece.delta.call !== delta.call);
    const piece = new Piece(task, delta, { part, position: this.feed?.position ?? 0 });
    this.#pieces.push(piece);
    this.#count(piece.bytes.length);
    while (this.#bytes > WATCH_KEPT_MAX_BYTES) this.dropFirst();
    this.#room.make();
    for (const listener of this.listeners) listener.pump();
  }

  /** The part to which it belongs; undefined: a piece before it is missing, or it is of an earlier attempt. The first that is heard of a call may be one in its middle. */
  #follows({ kind, call, attempt, index }: CallDelta): string | undefined {
    const next = this.#next.get(call);
    // A call that was given up may still speak.
    if (next !== undefined && attempt < next.attempt) return undefined;
    const isSame = next?.attempt === attempt;
    if (kind !== 'reset' && isSame && index !== next.index) {
      this.#keep((piece) => piece.delta.call !== call);
      this.#next.set(call, { attempt, index: -1, part: '' });
      return undefined;
    }
    const part = isSame && next.part.endsWith(kind) ? next.part : `${attempt}.${index}.${kind}`;
    this.#next.set(call, { attempt, index: index + 1, part });
    return part;
  }

  /** False: the log has the call's outcome, or another lease. An attempt that began after what rows have is not known yet. */
  isLive({ epoch, attempt, call }: CallDelta): boolean {
    const { feed } = this;
    if (feed === undefined) return true;
    return epoch >= feed.epoch && (attempt > feed.position || feed.openCalls.has(call));
  }

  /** The first piece after the place. */
  after(place: MessagePlace): Piece | undefined {
    const pieces = this.#pieces;
    let [low, high] = [0, pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isAfter(pieces[middle]!.delta, place)) high = middle;
      else low = middle + 1;
    }
    return pieces[low];
  }

  /** What the attempt has said; undefined: some of it is gone. */
  textOf(call: string, attempt: number): string | undefined {
    const own = this.#pieces.filter(({ delta }) => delta.call === call && delta.attempt === attempt);
    return own[0]?.delta.kind === 'reset'
      ? own.map(({ delta }) => (delta.kind === 'text' ? delta.text : '')).join('')
      : undefined;
  }

  /** The log has its outcome. In a later turn: other readers may yet compare that with what they have shown. */
  settled(call: string): void {
    if (!this.#next.delete(call)) return;
    setImmediate(() => this.#keep((piece) => this.isLive(piece.delta)));
  }

  /** Makes room; who has not read it yet finds that it is gone. */
  dropFirst(): void {
    const gone = this.#pieces.shift();
    if (gone === undefined) return;
    this.#floor = gone.delta.number;
    this.#count(-gone.bytes.length);
  }

  clear(): void {
    this.#next.clear();
    this.#keep(() => false);
  }

  get bytes(): number {
    return this.#bytes;
  }

  #keep(wanted: (piece: Piece) => boolean): void {
    const before = this.#bytes;
    this.#pieces = this.#pieces.filter(wanted);
    this.#count(this.#pieces.reduce((sum, { bytes }) => sum + bytes.length, 0) - before);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#room.count(this, bytes);
  }
}

/** What the pieces of all workflows take. Where that is too much, those that have the most give way. */
export class PieceRoom {
  #bytes = 0;
  readonly #holding = new Set<RunPieces>();

  count(of: RunPieces, bytes: number): void {
    this.#bytes += bytes;
    if (of.bytes > 0) this.#holding.add(of);
    else this.#holding.delete(of);
  }

  make(): void {
    while (this.#bytes > WATCH_KEPT_IN_MEMORY_MAX_BYTES) {
      let largest: RunPieces | undefined;
      for (const each of this.#holding) if (each.bytes > (largest?.bytes ?? 0)) largest = each;
      if (largest === undefined) return;
      largest.dropFirst();
    }
  }
}

interface Followed {
  readonly pieces: RunPieces;
  readonly ending: Promise<() => Promise<void>>;
}

/** The followed workflows. */
export class Pieces {
  readonly #client: Pick<Client, 'watch'>;
  readonly #room = new PieceRoom();
  readonly #followed = new Map<WorkflowId, Followed>();
  readonly #readers = new Map<RunPieces, number>();

  constructor(client: Pick<Client, 'watch'>) {
    this.#client = client;
  }

  /** The workflow's pieces, until the signal aborts. Throws as `Client.watch` does. */
  async of(workflow: WorkflowId, left: AbortSignal): Promise<RunPieces> {
    const followed = this.#followed.get(workflow) ?? this.#follow(workflow);
    const { pieces } = followed;
    this.#readers.set(pieces, (this.#readers.get(pieces) ?? 0) + 1);
    const leave = (): void => this.#leave(workflow, followed);
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
    await followed.ending;
    return pieces;
  }

  #follow(workflow: WorkflowId): Followed {
    const pieces = new RunPieces(this.#room);
    const followed = { pieces, ending: this.#client.watch(workflow, (chunk) => pieces.take(chunk)) };
    this.#followed.set(workflow, followed);
    followed.ending.catch(() => this.#followed.delete(workflow));
    return followed;
  }

  #leave(workflow: WorkflowId, { pieces, ending }: Followed): void {
    const left = this.#readers.get(pieces)! - 1;
    this.#readers.set(pieces, left);
    if (left > 0) return;
    this.#readers.delete(pieces);
    if (this.#followed.get(workflow)?.pieces === pieces) this.#followed.delete(workflow);
    pieces.clear();
    void ending.then((end) => end()).catch(() => {});
  }
}

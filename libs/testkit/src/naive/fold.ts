/**
 * Owns a second fold, written from the architecture's words and from nothing else: mutable, slow, arrays and linear scans.
 * Property tests compare it with core's, verdict by verdict and state by state (I2, I3, I5). Must not use core's fold,
 * frontier or task list, and must not be clever: what it does should be plain from reading it once.
 *
 * Where several reasons for a rejection hold at once, the first of this order is given: generation or tenant, unreadable,
 * closed; for inbox events the id, then what is named; for holder events epoch, holder, ordinal, Lamport time, then the
 * rule of the type; for a checkpoint its parent, its time, its task, its open effects, its version, what it supersedes.
 */

import type { Envelope, LogEntry } from '@tidemark/core';
import { foldHolderEvent } from './holder.ts';
import { foldInboxEvent, isInbox } from './inbox.ts';
import { closed, declare, goOnFrom, type NaiveStream } from './stream.ts';

export type { NaiveStream, NaiveTask } from './stream.ts';

const KNOWN_RULES = 1;

export class NaivePartition {
  readonly partition: number;
  next: number;
  generation = 0;
  streams: NaiveStream[] = [];

  constructor(partition: number, next: number) {
    this.partition = partition;
    this.next = next;
  }

  /** Folds the entry at `next`: `accepted at 3`, `unreadable`, or the reason of the rejection. */
  fold(entry: LogEntry): string {
    const offset = this.next;
    this.next += 1;
    if (entry.kind === 'malformed') return 'malformed';
    if (entry.kind === 'unknown') {
      const stream = this.streams.find((one) => one.workflow === entry.workflow);
      if (stream === undefined || stream.generation !== entry.generation) return 'wrong-generation';
      if (closed(stream)) return 'closed';
      stream.unreadable ??= { offset, type: entry.type, v: entry.v };
      return 'unreadable';
    }
    const event = entry.envelope;
    if (event.type === 'WorkflowOpened') return this.#open(event, offset);
    if (event.type === 'PartitionFenced') return this.#fence(event);
    const stream = this.streams.find((one) => one.workflow === event.workflow);
    if (stream === undefined || stream.generation !== event.generation || stream.tenant !== event.tenant) {
      return 'wrong-generation';
    }
    if (stream.unreadable !== null) return 'unreadable';
    if (closed(stream)) return 'closed';
    const reason = isInbox(event) ? foldInboxEvent(stream, event) : foldHolderEvent(stream, event);
    if (reason !== null) return reason;
    stream.position += 1;
    stream.lamport = Math.max(stream.lamport, event.lamport);
    stream.updatedAtMs = event.atMs;
    if (closed(stream)) stream.closedInGeneration = this.generation;
    return `accepted at ${stream.position}`;
  }

  /** Skips the numbers that openings in flight could name, up to the next multiple of 2^20. */
  #fence(event: Envelope<'PartitionFenced'>): string {
    if (event.control.partition !== this.partition) return 'wrong-generation';
    this.generation += 1_048_576 - (this.generation % 1_048_576);
    this.streams = this.streams.filter((one) => !closed(one));
    return 'accepted at 0';
  }

  #open(event: Envelope<'WorkflowOpened'>, offset: number): string {
    const known = this.streams.find((one) => one.workflow === event.workflow);
    // One workflow is opened once: again under its generation, or under any while it lives, is a repetition.
    if (known !== undefined && (known.generation === event.generation || !closed(known))) return 'duplicate';
    if (event.generation !== this.generation + 1) return 'wrong-generation';
    if (event.control.partition !== this.partition) return 'wrong-generation';
    this.generation = event.generation;
    this.streams = this.streams.filter((one) => !closed(one));
    const stream: NaiveStream = {
      tenant: event.tenant,
      workflow: event.workflow,
      generation: event.generation,
      definition: event.control.definition,
      version: event.control.version,
      rules: event.control.rules,
      status: 'open',
      reason: null,
      question: null,
      ruling: null,
      pinned: event.control.pinned,
      shadow: event.control.shadow,
      compensates: event.control.compensates,
      session: event.control.session,
      user: event.control.user,
      fork: event.control.fork,
      parent: event.control.parent,
      deadline:
        event.control.timeoutMs === undefined
          ? undefined
          : { timer: 'timeout', anchorMs: event.atMs, delayMs: event.control.timeoutMs },
      undo: null,
      position: 1,
      lamport: event.lamport,
      openedAtMs: event.atMs,
      updatedAtMs: event.atMs,
      head: { sequence: 0, checkpoint: null, atMs: event.atMs },
      beliefSequence: 0,
      epoch: 0,
      lease: null,
      isUnsettled: false,
      crashCount: 0,
      crashTimesMs: [],
      budgetFrom: 0,
      tasks: [],
      signals: [],
      inbox: [event.id],
      tokens: 0,
      costMicros: 0,
      lastAction: '',
      unreadable: event.control.rules <= KNOWN_RULES ? null : { offset, type: event.type, v: event.control.rules },
      closedInGeneration: null,
    };
    declare(stream, 0, event.control.tasks);
    if (event.control.continues !== undefined) goOnFrom(stream, event.control.continues, event.id);
    this.streams.push(stream);
    return 'accepted at 1';
  }
}

/**
 * Owns that workflows which are paused for want of a tenant's or a user's budget go on once it has room: it was raised or taken away, its
 * period has moved on, or others cost less than they had reserved. Derived from rows, and the id of what is written from the question, so any
 * number of coordinators may do the same. Must not judge calls: who goes on is checked again before each.
 */

import { BUDGET_EXCEEDED, type EventId, eventId, type Position, type Spend, type WorkflowId } from '@tidemark/core';
import type { WorkflowListing, WorkflowSearch } from '@tidemark/ports';
import { parkedQuestion } from '../history/index.ts';
import { type Ports, Reconcilers } from '../kernel/index.ts';
import type { Inbox } from '../lease/index.ts';
import {
  BUDGET_PAUSED_PAGE_COUNT,
  BUDGET_PAUSED_PAGES_MAX,
  BUDGET_RESUME_REST_MS,
  BUDGET_RESUME_RETRY_MAX_MS,
  BUDGET_RESUME_RETRY_MS,
  BUDGET_RESUMES_AT_ONCE,
} from './limits.ts';
import { SharedRoom, sharedWantIn } from './model-budgets.ts';

export interface BudgetRoomOptions {
  readonly ports: Pick<Ports, 'store' | 'clock'>;
  readonly inbox: Inbox;
  readonly onError: (error: unknown) => void;
}

/** What a paused workflow waits for; null: for nothing that is shared. */
interface Pause {
  readonly position: Position;
  readonly question: EventId;
  readonly want: Spend | null;
}

interface Due {
  readonly row: WorkflowListing;
  readonly question: EventId;
}

/** The same whoever lets it go on: what is paused goes on once for each question. */
export const roomEvent = (question: EventId): EventId => eventId(`room:${question}`);

export class BudgetRoom {
  readonly #options: BudgetRoomOptions;
  readonly #duties: Reconcilers;
  /** What was read of those that are paused now: it stays so until their position moves. */
  #pauses = new Map<WorkflowId, Pause>();

  constructor(options: BudgetRoomOptions) {
    this.#options = options;
    this.#duties = new Reconcilers({
      clock: options.ports.clock,
      atOnce: BUDGET_RESUMES_AT_ONCE,
      retryMs: BUDGET_RESUME_RETRY_MS,
      retryMaxMs: BUDGET_RESUME_RETRY_MAX_MS,
      restMs: BUDGET_RESUME_REST_MS,
      onError: options.onError,
    });
  }

  /** Lets as many go on as there is room for, those that were opened first before others. */
  async poll(): Promise<void> {
    // Rows that are being rebuilt don't say yet what was spent.
    if (!(await this.#options.ports.store.ready())) return;
    const paused = await this.#paused();
    const room = new SharedRoom(this.#options.ports);
    const due: Due[] = [];
    for (const row of paused.reverse()) {
      const { question, want } = this.#pauses.get(row.workflow)!;
      if (want === null || !this.#duties.isDue(question)) continue;
      if (await room.take(row, want)) due.push({ row, question });
    }
    const serve = ({ row, question }: Due): Promise<void> => this.#resume(row, question);
    await this.#duties.serve(due, ({ question }) => question, serve);
  }

  /** Newest first. What can't be read of one keeps no other waiting. */
  async #paused(): Promise<WorkflowListing[]> {
    const { store } = this.#options.ports;
    const found: WorkflowListing[] = [];
    const known = this.#pauses;
    this.#pauses = new Map();
    let after: WorkflowSearch['after'];
    for (let page = 0; page < BUDGET_PAUSED_PAGES_MAX; page++) {
      const asked = { status: 'parked', reason: BUDGET_EXCEEDED, after, limit: BUDGET_PAUSED_PAGE_COUNT } as const;
      const rows = await store.search(asked);
      for (const row of rows) {
        const before = known.get(row.workflow);
        const pause = before?.position === row.position ? before : await this.#pauseOf(row);
        if (pause === undefined) continue;
        this.#pauses.set(row.workflow, pause);
        found.push(row);
      }
      if (rows.length < BUDGET_PAUSED_PAGE_COUNT) break;
      after = rows.at(-1);
    }
    return found;
  }

  /** Undefined: it isn't known now. */
  async #pauseOf({ workflow, position }: WorkflowListing): Promise<Pause | undefined> {
    try {
      const { store } = this.#options.ports;
      const question = (await store.workflow(workflow))?.question?.id;
      const asked = question && (await parkedQuestion(store, workflow, question));
      return asked && { position, question: question!, want: sharedWantIn(asked.evidence) ?? null };
    } catch (error) {
      this.#options.onError(error);
      return undefined;
    }
  }

  async #resume(row: WorkflowListing, question: EventId): Promise<void> {
    const nothing = { tokens: 0, costMicros: 0, by: 'budget' };
    await this.#options.inbox.write(row, roomEvent(question), 'BudgetRaised', nothing, {
      why: 'there is room in the budget',
    });
  }
}

/**
 * Owns the resumption of workflows that are parked for lack of a tenant's or user's budget, once it has room: it was raised or removed, its
 * period has moved on, or other calls cost less than they reserved. Work derives from rows, and the id of each event from the question, so
 * any number of coordinators may do the same. It does not judge calls: each call of a resumed workflow is checked again.
 */

import { BUDGET_EXCEEDED, type EventId, eventId, type Position, type Spend, type WorkflowId } from '@tidemark/core';
import type { WorkflowListing, WorkflowSearch } from '@tidemark/ports';
import { parkedQuestion } from '../history/index.ts';
import { type Ports, Reconcilers } from '../kernel/index.ts';
import type { Inbox } from '../lease/index.ts';
import { SharedRoom, sharedWantIn } from './model-budgets.ts';

/** Parked workflows in one page; pages that one poll reads, the newest first; and how many workflows resume at once. */
const BUDGET_PAUSED_PAGE_COUNT = 500;
const BUDGET_PAUSED_PAGES_MAX = 20;
const BUDGET_RESUMES_AT_ONCE = 16;
/**
 * Delay before a resumed workflow is tried again if rows still show it parked; and first and longest delay after a failure. Milliseconds.
 */
const BUDGET_RESUME_REST_MS = 5_000;
const BUDGET_RESUME_RETRY_MS = 1_000;
const BUDGET_RESUME_RETRY_MAX_MS = 60_000;

export interface BudgetRoomOptions {
  readonly ports: Pick<Ports, 'store' | 'clock'>;
  readonly inbox: Inbox;
  readonly onError: (error: unknown) => void;
}

/** What a parked workflow needs; null: nothing from a shared budget. */
interface Pause {
  readonly position: Position;
  readonly question: EventId;
  readonly want: Spend | null;
}

interface Due {
  readonly row: WorkflowListing;
  readonly question: EventId;
}

/** The same for everyone who resumes the workflow, so that it resumes once for each question. */
export const roomEvent = (question: EventId): EventId => eventId(`room:${question}`);

export class BudgetRoom {
  readonly #options: BudgetRoomOptions;
  readonly #reconcilers: Reconcilers;
  /** What was read of parked workflows; valid until their position changes. */
  #pauses = new Map<WorkflowId, Pause>();

  constructor(options: BudgetRoomOptions) {
    this.#options = options;
    this.#reconcilers = new Reconcilers({
      clock: options.ports.clock,
      atOnce: BUDGET_RESUMES_AT_ONCE,
      retryMs: BUDGET_RESUME_RETRY_MS,
      retryMaxMs: BUDGET_RESUME_RETRY_MAX_MS,
      restMs: BUDGET_RESUME_REST_MS,
      onError: options.onError,
    });
  }

  /** Resumes as many workflows as there is room for, oldest first. */
  async poll(): Promise<void> {
    // Rows that are being rebuilt don't show yet what was spent.
    if (!(await this.#options.ports.store.ready())) return;
    const paused = await this.#paused();
    const room = new SharedRoom(this.#options.ports);
    const due: Due[] = [];
    for (const row of paused.reverse()) {
      const { question, want } = this.#pauses.get(row.workflow)!;
      if (want === null || !this.#reconcilers.isDue(question)) continue;
      if (await room.take(row, want)) due.push({ row, question });
    }
    const serve = ({ row, question }: Due): Promise<void> => this.#resume(row, question);
    await this.#reconcilers.serve(due, ({ question }) => question, serve);
  }

  /** Newest first. A workflow that can't be read does not hold up the others. */
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

  /** Undefined: it can't be read now. */
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

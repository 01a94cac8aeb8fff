/**
 * Owns the retry of a task that failed for good, once workers of another build announce themselves. There is one decision for each question
 * and build, with an id that derives from both, so several coordinators decide it once. A build on which the task has failed never gets it
 * again, so there is no loop. It does not decide which worker takes the task (worker.ts).
 */

import { eventId, FAILED_BUILDS_MAX, type StreamState } from '@tidemark/core';
import {
  type LivenessView,
  type ProjectionStore,
  routeKey,
  type StreamRow,
  type WorkflowSummary,
} from '@tidemark/ports';
import type { Inbox } from '../lease/index.ts';

/** Workflows whose failed task may resume on a new build, in one page; and recently parked ones that are kept until they are decided. */
const FAILED_TASKS_PAGE_COUNT = 500;
const FAILED_TASKS_KEPT_MAX = 10_000;

/** Codes of the questions of a task that failed for good. */
const FAILED = ['step-failed', 'poison-step'] as const;

export interface NewBuildsOptions {
  readonly store: Pick<ProjectionStore, 'workflows'>;
  readonly inbox: Pick<Inbox, 'write'>;
  /** Whether this process projects the partition; other coordinators decide for theirs. */
  readonly owns: (partition: StreamRow['partition']) => boolean;
}

type Parked = Pick<
  WorkflowSummary,
  'workflow' | 'tenant' | 'partition' | 'generation' | 'definition' | 'version' | 'pinned' | 'question' | 'failedOn'
>;

export class NewBuilds {
  readonly #options: NewBuildsOptions;
  /** Builds of living workers with their routes, latest last. */
  #builds: LivenessView['builds'] = new Map();
  /** Definitions whose parked workflows must be read. */
  readonly #due = new Set<string>();
  /** Workflows that have just parked, for which a build lives on which they have not failed. */
  readonly #fresh = new Map<Parked['workflow'], Parked>();

  constructor(options: NewBuildsOptions) {
    this.#options = options;
  }

  /** Records the living workers; true when a build or route is new. */
  seen({ trusted, builds }: LivenessView): boolean {
    // In an untrusted view a missing worker may only not have sent a heartbeat yet.
    if (!trusted) return false;
    const before = this.#builds;
    const kept = [...before.keys()].filter((build) => builds.has(build));
    this.#builds = new Map([...new Set([...kept, ...builds.keys()])].map((build) => [build, builds.get(build)!]));
    for (const [build, routes] of builds) {
      for (const route of routes) if (before.get(build)?.has(route) !== true) this.#due.add(definitionOf(route));
    }
    return this.#due.size > 0;
  }

  /** Records written rows; true when one of them can resume now. */
  applied(streams: readonly StreamRow[]): boolean {
    if (this.#builds.size === 0) return false;
    for (const { state, ...row } of streams) {
      if (row.status !== 'parked' || !state.includes('"failedOn":{')) continue;
      const parked = { ...row, ...(JSON.parse(state) as Pick<StreamState, 'question' | 'failedOn'>) };
      if (this.#buildFor(parked) === undefined) continue;
      if (this.#fresh.size < FAILED_TASKS_KEPT_MAX) this.#fresh.set(row.workflow, parked);
      else this.#due.add(row.definition);
    }
    return this.#fresh.size > 0 || this.#due.size > 0;
  }

  /** Partitions came from other coordinators, or rows were rebuilt: all parked workflows are read again. */
  forget(): void {
    for (const routes of this.#builds.values()) for (const route of routes) this.#due.add(definitionOf(route));
  }

  /** Writes the decisions that are due. After a failure it throws, and the next call repeats them. */
  async poll(): Promise<void> {
    const fresh = [...this.#fresh.values()];
    this.#fresh.clear();
    const due = [...this.#due];
    this.#due.clear();
    try {
      await this.#decide(fresh);
      for (const definition of due) for (const reason of FAILED) await this.#search(definition, reason);
    } catch (error) {
      for (const { definition } of fresh) this.#due.add(definition);
      for (const definition of due) this.#due.add(definition);
      throw error;
    }
  }

  async #search(definition: string, reason: (typeof FAILED)[number]): Promise<void> {
    const query = { definition, reason, status: 'parked', limit: FAILED_TASKS_PAGE_COUNT } as const;
    for (let after: WorkflowSummary | undefined; ; ) {
      const page: readonly WorkflowSummary[] = await this.#options.store.workflows({
        ...query,
        ...(after !== undefined && { after }),
      });
      await this.#decide(page.filter(({ partition }) => this.#options.owns(partition)));
      if (page.length < FAILED_TASKS_PAGE_COUNT) return;
      after = page.at(-1);
    }
  }

  async #decide(parked: readonly Parked[]): Promise<void> {
    const writes = parked.map(async (row) => {
      const build = this.#buildFor(row);
      if (build === undefined) return;
      const question = row.question!.id;
      await this.#options.inbox.write(
        row,
        eventId(`retry:${question}:${build}`),
        'RetryDecided',
        { question, build },
        null,
      );
    });
    const failed = (await Promise.allSettled(writes)).find((write) => write.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** The latest build on which the task has not failed. */
  #buildFor({ question, failedOn, ...row }: Parked): string | undefined {
    if (failedOn === undefined || question?.task !== failedOn.task || failedOn.next !== undefined) return undefined;
    if (!FAILED.some((code) => code === question.code) || failedOn.builds.length >= FAILED_BUILDS_MAX) return undefined;
    const route = routeKey(row);
    const fitting = [...this.#builds].filter(
      ([build, routes]) => routes.has(route) && !failedOn.builds.includes(build),
    );
    return fitting.at(-1)?.[0];
  }
}

/** The definition is the end of a route's key. */
const definitionOf = (route: string): string => route.slice(route.indexOf(' ') + 1);

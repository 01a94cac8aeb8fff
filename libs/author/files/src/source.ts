/** Owns reading a run by the API's client, wherever it is. Must not interpret what it reads. */

import { type Answer, type Client, TidemarkApiError } from '@tidemark/client';
import { DEFAULT_TENANT, LimitError } from '@tidemark/core';
import { doneSchema, importedKey, pipelineSubject, spentSchema } from '@tidemark/sdk';
import type { Effect } from './actions.ts';
import {
  type Checkpoint,
  type Imported,
  type Note,
  type RunView,
  runView,
  type Task,
  type Workflow,
} from './run-view.ts';

/** Most checkpoints of one run that are shown as files. */
const CHECKPOINTS_MAX_COUNT = 20_000;
/** Checkpoints, events or tasks in one read. */
const PAGE_COUNT = 500;
/** Events of one run beside its checkpoints, and pending tasks, that are read. */
const EVENTS_READ_MAX_COUNT = 10_000;
const TASKS_READ_MAX_COUNT = 1_000;
/** Steps whose effects are read one by one; beyond, all effects of the run are read, page by page. */
const STEPS_READ_ALONE_COUNT = 5;
/** Effects of one run that are read, at most. */
const EFFECTS_READ_MAX_COUNT = 100_000;
/** Earlier runs among which the last success is searched for. */
const RUNS_READ_COUNT = 20;

/** The run to show: one by its id, or always the newest of a tenant's workflow by its name. */
export type Shown =
  | { readonly workflow: string }
  /** Default of `tenant`: the default tenant. */
  | { readonly definition: string; readonly tenant?: string | undefined };

/** Records of a pipeline whose keys begin so. */
export type ReadRecords = (
  subject: string,
  prefix: string,
) => Promise<readonly { readonly key: string; readonly value?: unknown; readonly at: string }[]>;

/** Records that seldom change, so each is read once. */
interface Read {
  /** Their status is the current one: they are read again where it may have changed. */
  readonly checkpoints: Checkpoint[];
  /** Of the workflow, when they were read. */
  status: Workflow['status'] | undefined;
  /** By position. */
  readonly notes: Note[];
  /** By task; only effects that no longer change. */
  readonly effects: Map<string, readonly Effect[]>;
  /** The run has ended, and all its effects are here. */
  hasAllEffects: boolean;
  /** What it was opened with. */
  opened: Promise<{ readonly input: string | undefined; readonly imported: Imported }> | undefined;
}

/** Statuses in which effects of checkpoints may have been compensated since. */
const COMPENSATING: ReadonlySet<Workflow['status']> = new Set(['compensating', 'compensated', 'failed']);

export interface ReaderOptions {
  readonly client: Client;
  /** All steps of the definition in order; without it, those that have occurred. */
  readonly stepNames?: readonly string[] | undefined;
  readonly records?: ReadRecords | undefined;
}

export class RunReader {
  readonly #client: Client;
  readonly #stepNames: readonly string[] | undefined;
  readonly #records: ReadRecords | undefined;
  readonly #read = new Map<string, Read>();

  constructor({ client, stepNames, records }: ReaderOptions) {
    this.#client = client;
    this.#stepNames = stepNames;
    this.#records = records;
  }

  /** The run to show now; undefined while there is none. */
  async newest(shown: Shown): Promise<Workflow | undefined> {
    if (!('workflow' in shown)) {
      const { definition, tenant = DEFAULT_TENANT } = shown;
      return (await this.#client.list({ definition, tenant, limit: 1 })).workflows[0];
    }
    try {
      return await this.#client.run(shown.workflow).get({ content: false });
    } catch (error) {
      if (error instanceof TidemarkApiError && error.code === 'workflow-unknown') return undefined;
      throw error;
    }
  }

  /** Throws `LimitError` (`run-too-long`). */
  async view(row: Workflow): Promise<RunView> {
    const read = this.#readOf(row.workflow);
    const checkpoints = await this.#checkpoints(row, read);
    await this.#readNotes(row, read);
    const tasks = await this.#tasks(row);
    const effects = await this.#effects(row, read, checkpoints, tasks);
    read.opened ??= this.#opened(row);
    const opened = await read.opened;
    return runView({ row, checkpoints, notes: read.notes, tasks, effects, stepNames: this.#stepNames, ...opened });
  }

  async #opened({ workflow, definition }: Workflow) {
    const { input_state_hash: input } = await this.#client.run(workflow).get({ content: false });
    const rows = (await this.#records?.(pipelineSubject(definition), importedKey(workflow, ''))) ?? [];
    const steps = rows.flatMap(({ key, value, at }) => {
      const made = doneSchema.safeParse(value).data;
      return made !== undefined && key === importedKey(workflow, made.step) ? [{ ...made, at: made.at ?? at }] : [];
    });
    const spent = spentSchema.safeParse(rows.find(({ key }) => key === importedKey(workflow, ''))?.value);
    return { input: input ?? undefined, imported: { steps, tokens: spent.data?.tokens ?? 0 } };
  }

  /** The newest run of the tenant's definition that succeeded. */
  async lastSuccess(definition: string, tenant: string): Promise<RunView | undefined> {
    const query = { definition, tenant, status: 'completed', limit: RUNS_READ_COUNT } as const;
    for (const row of (await this.#client.list(query)).workflows) {
      const view = await this.view(row);
      if (view.status === 'completed') return view;
    }
    return undefined;
  }

  #readOf(workflow: string): Read {
    const known = this.#read.get(workflow);
    if (known !== undefined) return known;
    // It follows one run at a time; the others were read once.
    this.#read.clear();
    const read: Read = {
      checkpoints: [],
      status: undefined,
      notes: [],
      effects: new Map(),
      ...{ hasAllEffects: false, opened: undefined },
    };
    this.#read.set(workflow, read);
    return read;
  }

  async #checkpoints({ workflow, status, sequence_number: newest }: Workflow, read: Read) {
    const { checkpoints: known } = read;
    if (newest > CHECKPOINTS_MAX_COUNT) {
      const message = `${workflow} has ${newest} checkpoints; at most ${CHECKPOINTS_MAX_COUNT} are shown as files.`;
      throw new LimitError('run-too-long', message, { workflow });
    }
    if (read.status !== status && COMPENSATING.has(status)) known.length = 0;
    read.status = status;
    while (known.length < newest) {
      const query = { from: known.length + 1, limit: PAGE_COUNT };
      const { checkpoints } = await this.#client.run(workflow).checkpoints(query);
      if (checkpoints.length === 0) break;
      for (const { sequence_number: by, supersedes } of checkpoints) {
        const corrected = known[(supersedes ?? 0) - 1];
        if (corrected !== undefined) known[supersedes! - 1] = { ...corrected, status: 'superseded', superseded_by: by };
      }
      known.push(...checkpoints);
    }
    return known.slice(0, newest);
  }

  /** The newest first, back to the known ones. */
  async #readNotes({ workflow }: Workflow, { notes }: Read): Promise<void> {
    const last = notes.at(-1)?.position ?? 0;
    const pages: (readonly Note[])[] = [];
    let cursor: string | null | undefined;
    for (let count = 0; cursor !== null && count < EVENTS_READ_MAX_COUNT; count += PAGE_COUNT) {
      const query = { limit: PAGE_COUNT, ...(cursor !== undefined && { cursor }) };
      const page = await this.#client.run(workflow).notes(query);
      const fresh = page.events.filter(({ position }) => position > last);
      pages.unshift(fresh);
      cursor = fresh.length < page.events.length ? null : page.next_cursor;
    }
    notes.push(...pages.flat());
    notes.splice(0, notes.length - EVENTS_READ_MAX_COUNT);
  }

  /** By task. Those of a committed step no longer change, unless they are still pending; for a run that has ended all are read, once. */
  async #effects(
    { workflow, status }: Workflow,
    read: Read,
    checkpoints: readonly Checkpoint[],
    tasks: readonly Task[],
  ): Promise<ReadonlyMap<string, readonly Effect[]>> {
    const { effects: known } = read;
    if (status !== 'open' && status !== 'parked') {
      if (!read.hasAllEffects) {
        const all = Map.groupBy(await this.#effectsOf(workflow), ({ task }) => task);
        for (const [task, effects] of all) known.set(task, effects);
        read.hasAllEffects = true;
      }
      return known;
    }
    const committed = checkpoints.flatMap(({ task, effect_log }) => (effect_log.length > 0 ? (task ?? []) : []));
    const pending = tasks.flatMap(({ task, effects }) => (effects.length > 0 ? task : []));
    const missing = new Set([...committed.filter((task) => !known.has(task)), ...pending]);
    const isFew = missing.size <= STEPS_READ_ALONE_COUNT;
    const reads = isFew ? [...missing].map((task) => this.#effectsOf(workflow, { task })) : [this.#effectsOf(workflow)];
    const fresh = Map.groupBy((await Promise.all(reads)).flat(), ({ task }) => task);
    for (const task of committed) {
      const found = fresh.get(task);
      if (found?.every(({ status }) => status === 'done' || status === 'failed')) known.set(task, found);
    }
    return new Map([...known, ...fresh]);
  }

  async #effectsOf(workflow: string, of: { readonly task?: string } = {}): Promise<readonly Effect[]> {
    const found: Effect[] = [];
    let after: string | null | undefined;
    while (after !== null && found.length < EFFECTS_READ_MAX_COUNT) {
      const query = { ...of, limit: PAGE_COUNT, ...(after !== undefined && { after }) };
      const request = { params: { workflow }, query };
      const page: Answer<'GET /v1/workflows/{workflow}/effects'> = await this.#client.ask(
        'GET /v1/workflows/{workflow}/effects',
        request,
      );
      found.push(...page.effects);
      after = page.next_after;
    }
    return found;
  }

  async #tasks({ workflow }: Workflow): Promise<readonly Task[]> {
    const found: Task[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null && found.length < TASKS_READ_MAX_COUNT) {
      const query = { limit: PAGE_COUNT, ...(cursor !== undefined && { cursor }) };
      const page: Answer<'GET /v1/workflows/{workflow}/tasks'> = await this.#client.run(workflow).tasks(query);
      found.push(...page.tasks);
      cursor = page.next_cursor;
    }
    return found;
  }
}

/** Owns a desk over ports that this process opened: an embedded folder that it holds, or a cluster. */

import { cardOf, type DefinitionCard, inputOf } from '@tidemark/api/shapes';
import { canonicalJson, SECRET_MASK } from '@tidemark/codec';
import { type Lease, tenantId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import { type Definition, maskedStore, type Ports, type ToldDelta, type WorkerOptions } from '@tidemark/runtime';
import { type CommandAccess, hostAccess } from './access-desk.ts';
import { type CommandArchive, hostArchive } from './archive-desk.ts';
import { pick } from './definitions.ts';
import type { Desk, Health, NewsListener, Place, Reads, SignalRequest, StartAnswer, StartRequest } from './desk.ts';
import { type CommandKeys, hostKeys } from './keys-desk.ts';
import { type CommandMemory, hostMemory } from './memory-desk.ts';
import { type CommandPast, hostPast } from './past-desk.ts';

export class HostDesk implements Desk {
  readonly place: Place;
  readonly reads: Reads;
  readonly memory: CommandMemory;
  readonly archive: CommandArchive;
  readonly keys: CommandKeys;
  readonly access: CommandAccess;
  readonly past: CommandPast;
  runsWorker = false;
  readonly host: Host;
  /** What it runs, or is told of. */
  readonly known: readonly Definition[];
  readonly #listeners = new Set<NewsListener>();
  readonly #closers: (() => Promise<void>)[] = [];
  #unsubscribe: Promise<() => Promise<void>> | undefined;
  #closed: Promise<void> | undefined;

  constructor(host: Host, place: Place, definitions: readonly Definition[]) {
    this.host = host;
    this.place = place;
    this.reads = maskedStore(host.ports.store);
    this.memory = hostMemory(host);
    this.archive = hostArchive(host);
    this.keys = hostKeys(host);
    this.access = hostAccess(host);
    this.past = hostPast(host);
    this.known = definitions;
  }

  async definitions(): Promise<readonly DefinitionCard[]> {
    return this.known.map(cardOf);
  }

  async start({ definition, input, tenant, ...how }: StartRequest): Promise<StartAnswer> {
    const where = this.place.kind === 'cluster' ? 'in the given modules' : 'here';
    const found = pick(this.known, definition, where);
    const whose = tenant === undefined ? undefined : tenantId(tenant);
    const run = await this.host.client.start(found, input, { ...how, tenant: whose });
    const before = run.created ? undefined : await inputOf(this.reads, run.id);
    const sameInput =
      before === undefined || canonicalJson(before) === canonicalJson(found.parseInput(input, () => SECRET_MASK));
    return { workflow: run.id, created: run.created, sameInput };
  }

  signal(workflow: string, name: string, value: unknown, { key, isOwn }: SignalRequest): Promise<void> {
    const definitions = isOwn === true ? undefined : this.known;
    return this.host.client.signal(workflow, name, value, { key, definitions });
  }

  revoke(workflow: string): Promise<Pick<Lease, 'epoch' | 'holder'> | null> {
    return this.host.client.revoke(workflow);
  }

  health(): Promise<Health> {
    return healthOf(this.host.ports);
  }

  /** Runs the workflows that this desk knows, and tells listeners of it. */
  async startWorker(concurrency: number, onError: NonNullable<WorkerOptions['onError']>): Promise<void> {
    this.runsWorker = true;
    await this.host.startWorker({
      definitions: this.known,
      concurrency,
      onError,
      onResume: (resumed) => this.#tell({ type: 'claimed', ...resumed }),
      onProgress: ({ workflow, step, done, total, text }) =>
        this.#tell({ type: 'progress', workflow, step, done, total, text }),
      onDelta: (told) => this.#said(told),
    });
  }

  async onNews(listener: NewsListener, workflow?: string): Promise<() => void> {
    this.#listeners.add(listener);
    this.#unsubscribe ??= this.host.ports.hints.subscribe('applied', () => this.#tell({ type: 'applied' }));
    await this.#unsubscribe;
    // What its own worker says is heard without going round by the bus.
    const unwatch =
      workflow === undefined || this.runsWorker
        ? undefined
        : await this.host.client.watch(workflow, (told) => this.#said(told));
    return () => {
      this.#listeners.delete(listener);
      void unwatch?.();
    };
  }

  /** To be closed first, when the desk is. */
  closeFirst(closer: () => Promise<void>): void {
    this.#closers.push(closer);
  }

  close(drainMs = 0): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    for (const closer of this.#closers.splice(0)) await closer();
    await (await this.#unsubscribe)?.();
    await this.host.close(drainMs);
  }

  #said({ workflow, task, delta }: ToldDelta): void {
    if (delta.kind === 'text') this.#tell({ type: 'said', workflow, task, text: delta.text });
  }

  #tell(news: Parameters<NewsListener>[0]): void {
    for (const listener of this.#listeners) listener(news);
  }
}

async function healthOf({ log, store }: Ports): Promise<Health> {
  const [positions, bounds] = [await store.positions(), await log.bounds()];
  let lagCount = 0;
  let laggingPartitionCount = 0;
  for (const [partition, { start, end }] of bounds) {
    const lag = end - (positions.get(partition) ?? start);
    if (lag <= 0) continue;
    lagCount += lag;
    laggingPartitionCount++;
  }
  return {
    store: { kind: store.kind, ready: await store.ready(), counts: await store.counts() },
    log: {
      durability: log.durability,
      partitionCount: await log.partitionCount(),
      sizeBytes: await log.sizeBytes(),
      lagCount,
      laggingPartitionCount,
    },
  };
}

/** True once rows hold all that is in the log now and placements are rebuilt. */
export async function isCaughtUp({ log, store }: Ports): Promise<boolean> {
  if (!(await store.ready())) return false;
  const bounds = await log.bounds();
  const positions = await store.positions();
  for (const [partition, { end }] of bounds) if ((positions.get(partition) ?? 0) < end) return false;
  return true;
}

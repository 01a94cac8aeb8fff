/**
 * Owns a caller's requests about whole queues: pause all work of a definition, of all tenants or of one, and resume it. A paused queue is a
 * record in a stream of the system, so it survives every process and server but the log. It does not prevent claims itself: see
 * paused-queues.ts.
 */

import {
  InvalidError,
  isSystemDefinition,
  type Json,
  LimitError,
  SYSTEM_TENANT,
  type TenantId,
  UNDO_SUFFIX,
} from '@tidemark/core';
import type { QueueCount } from '@tidemark/ports';
import {
  HELD_PREFIX,
  type PausedQueue,
  QUEUES_HELD_MAX_COUNT,
  QUEUES_KNOWN_MS,
  QueuePauses,
  workOf,
} from '../control/index.ts';
import type { Definition } from '../definition/index.ts';
import type { LifecycleAsk } from '../inbox/index.ts';
import { type Guarded, type Ports, QUEUES_SUBJECT, SCHEDULE_SUFFIX, type SecretPorts } from '../kernel/index.ts';
import { checkName, checkText } from '../lease/index.ts';
import type { ClientMemory } from './client-memory.ts';

/**
 * Paused queues of one tenant, and of all tenants together, so that operators who pause for all tenants always have room; and queues that
 * are listed.
 */
export const QUEUES_HELD_OF_TENANT_MAX_COUNT = 100;
export const QUEUES_HELD_OF_TENANTS_MAX_COUNT = 900;
const QUEUES_LISTED_MAX_COUNT = 10_000;

export interface QueueName {
  readonly definition: string;
  /** Null: all tenants. */
  readonly tenant: TenantId | null;
}

/** What the caller can know of, so that a misspelt name is refused. */
export interface QueueScope {
  readonly definitions: readonly Pick<Definition, 'name'>[];
  /** Tenant whose workflows the caller may see; null: all. */
  readonly tenant: TenantId | null;
  /** The queue is meant although nothing is known of it yet. */
  readonly isFuture?: boolean | undefined;
}

export interface QueueChanged extends QueueName {
  /** False: it was already so. */
  readonly changed: boolean;
  /** Whether the queue is paused now; after a tenant's resume it may still be paused for all tenants. */
  readonly held: boolean;
}

/** The state of a queue: of one definition and tenant. */
export interface QueueState extends Omit<QueueCount, 'tenant'> {
  /** Null: a pause for all tenants that has no work. */
  readonly tenant: TenantId | null;
  /** The pauses that apply; empty: it is not paused. */
  readonly held: readonly PausedQueue[];
}

const RESUMED_PREFIX = 'resumed:';

export class Queues {
  readonly #ports: Pick<Ports, 'store' | 'clock' | 'digest'> & SecretPorts;
  readonly #memory: Pick<ClientMemory, 'guardOwn' | 'keepOwn'>;
  readonly #held: QueuePauses;

  constructor(
    ports: Pick<Ports, 'store' | 'clock' | 'digest'> & SecretPorts,
    memory: Pick<ClientMemory, 'guardOwn' | 'keepOwn'>,
  ) {
    this.#ports = ports;
    this.#memory = memory;
    this.#held = new QueuePauses(ports);
  }

  /**
   * Pauses a queue. Once it resolves, none of its workflows is claimed until it is resumed; running steps finish, and starts are accepted
   * and wait. Throws `InvalidError` (names the field; `queue-system`, `queue-derived`; with `scope` also `definition-unknown`: neither a
   * known definition nor that of a visible workflow), `LimitError` (`queues-held-too-many`), `UnavailableError`.
   */
  async pause(queue: QueueName, ask: LifecycleAsk, scope?: QueueScope): Promise<QueueChanged> {
    checkAsk(queue, ask);
    const asked = this.#guarded(ask);
    const { clock } = this.#ports;
    const { all } = await this.#held.poll();
    if (all.some((held) => isSame(held, queue))) return { ...queue, changed: false, held: true };
    if (scope !== undefined && scope.isFuture !== true) {
      await this.#requireKnown(queue, scope, ' To pause it before its first workflow, set future (--future).');
    }
    checkRoom(queue, all);
    const { definition, tenant } = queue;
    const sinceMs = clock.nowMs();
    await this.#write(
      queue,
      HELD_PREFIX,
      asked.as((said) => ({ definition, tenant, ...said, sinceMs })),
    );
    // A process that read the rows before they showed it may still claim for this long.
    await clock.sleep(QUEUES_KNOWN_MS);
    return { ...queue, changed: true, held: true };
  }

  /** `remedy`: for callers of all tenants. */
  async #requireKnown({ definition }: QueueName, { definitions, tenant }: QueueScope, remedy = ''): Promise<void> {
    if (definitions.some(({ name }) => name === definition)) return;
    const [workflow] = await this.#ports.store.workflows({ definition, limit: 1, ...(tenant !== null && { tenant }) });
    if (workflow !== undefined) return;
    const known = [...new Set(definitions.map(({ name }) => name))].sort().join(', ');
    const list = known === '' ? '' : ` Known here: ${known}.`;
    const message = `definition: nothing is named '${definition}' here, and no workflow of it was ever started.${list}${tenant === null ? remedy : ''}`;
    throw new InvalidError('definition-unknown', message, { field: 'definition' });
  }

  /** Resumes a queue. Throws what `pause` throws; with `scope` for a definition that is not paused. */
  async resume(queue: QueueName, ask: LifecycleAsk, scope?: QueueScope): Promise<QueueChanged> {
    checkAsk(queue, ask);
    const asked = this.#guarded(ask);
    const { all } = await this.#held.poll();
    const others = all.filter(({ definition, tenant }) => definition === queue.definition && tenant === null);
    if (!all.some((held) => isSame(held, queue))) {
      if (scope !== undefined && others.length === 0) await this.#requireKnown(queue, scope);
      return { ...queue, changed: false, held: others.length > 0 };
    }
    const { definition, tenant } = queue;
    const atMs = this.#ports.clock.nowMs();
    await this.#write(
      queue,
      RESUMED_PREFIX,
      asked.as((said) => ({ definition, tenant, ...said, atMs })),
    );
    return { ...queue, changed: true, held: tenant !== null && others.length > 0 };
  }

  /** It becomes part of a record of the system's own, which no policy touches. */
  #guarded({ by, why }: LifecycleAsk): Guarded<Pick<LifecycleAsk, 'by' | 'why'>> {
    const guard = this.#memory.guardOwn(QUEUES_SUBJECT);
    guard.names('by', by);
    return guard.content('decision', 'why', why).as((said) => ({ by, why: said }));
  }

  /** Writes one event: the pause, or its end with the person who resumed it. */
  async #write(queue: QueueName, prefix: string, value: Guarded<Json>): Promise<void> {
    const name = this.#ports.digest.sha256(JSON.stringify([queue.definition, queue.tenant])).slice(0, 32);
    const gone = prefix === HELD_PREFIX ? [] : [{ key: `${HELD_PREFIX}${name}` }];
    const records = value.as((said) => [...gone, { key: `${prefix}${name}`, value: said }]);
    await this.#memory.keepOwn(SYSTEM_TENANT, QUEUES_SUBJECT, records);
  }

  /** The pauses; for a tenant, those that apply to its work. */
  async held(tenant: TenantId | null): Promise<readonly PausedQueue[]> {
    const { all } = await this.#held.poll();
    return all.filter((held) => tenant === null || held.tenant === null || held.tenant === tenant);
  }

  /** Queues that have runnable or leased workflows, or are paused, by definition and tenant. Null: of all tenants. */
  async list(tenant: TenantId | null): Promise<readonly QueueState[]> {
    const [stored, held] = await Promise.all([
      this.#ports.store.queueCounts(tenant, QUEUES_LISTED_MAX_COUNT),
      this.held(tenant),
    ]);
    const counts = merged(stored);
    const states = counts.map((count) => ({ ...count, held: held.filter((one) => holds(one, count)) }));
    const idle = held.filter((one) => !counts.some((count) => holds(one, count)));
    return [
      ...states,
      ...idle.map((one) => ({
        ...{ definition: one.definition, tenant: one.tenant, readyCount: 0, runningCount: 0, held: [one] },
      })),
    ];
  }
}

/** Undos count with the definition that they compensate. */
function merged(counts: readonly QueueCount[]): readonly QueueCount[] {
  const byQueue = Map.groupBy(counts, ({ definition, tenant }) => JSON.stringify([workOf(definition), tenant]));
  return Array.from(byQueue.values(), (of) => ({
    definition: workOf(of[0]!.definition),
    tenant: of[0]!.tenant,
    readyCount: of.reduce((sum, { readyCount }) => sum + readyCount, 0),
    runningCount: of.reduce((sum, { runningCount }) => sum + runningCount, 0),
  }));
}

/** No tenant uses up the room of another, nor that of pauses for all tenants. */
function checkRoom({ tenant }: QueueName, all: readonly PausedQueue[]): void {
  const ofTenants = all.filter((held) => held.tenant !== null);
  const own = ofTenants.filter((held) => held.tenant === tenant);
  const bounds: readonly (readonly [readonly PausedQueue[], number])[] =
    tenant === null
      ? [[all, QUEUES_HELD_MAX_COUNT]]
      : [
          [own, QUEUES_HELD_OF_TENANT_MAX_COUNT],
          [ofTenants, QUEUES_HELD_OF_TENANTS_MAX_COUNT],
        ];
  const reached = bounds.find(([held, limit]) => held.length >= limit);
  if (reached === undefined) return;
  const [, limit] = reached;
  const message = `${limit} queues are paused already. Resume some first, or pause workflows by a job.`;
  throw new LimitError('queues-held-too-many', message, { limit });
}

const isSame = (held: QueueName, queue: QueueName): boolean =>
  held.definition === queue.definition && held.tenant === queue.tenant;

const holds = (held: QueueName, count: Pick<QueueCount, 'definition' | 'tenant'>): boolean =>
  held.definition === count.definition && (held.tenant === null || held.tenant === count.tenant);

function checkAsk({ definition }: QueueName, { by, why }: LifecycleAsk): void {
  checkName('definition', definition);
  checkName('by', by);
  checkText('why', why);
  if (isSystemDefinition(definition)) {
    throw new InvalidError('queue-system', "definition: the system's own work can't be paused.", {
      field: 'definition',
    });
  }
  for (const suffix of [UNDO_SUFFIX, SCHEDULE_SUFFIX]) {
    if (!definition.endsWith(suffix)) continue;
    const of = definition.slice(0, -suffix.length);
    const what =
      suffix === UNDO_SUFFIX ? `undos are paused with '${of}'` : 'pause the schedule as the workflow that it is';
    throw new InvalidError('queue-derived', `definition: ${what}; name what people start.`, { field: 'definition' });
  }
}

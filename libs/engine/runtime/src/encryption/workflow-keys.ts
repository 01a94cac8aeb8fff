/**
 * Owns which data key seals a workflow's events or secret fields: the workflow's own, created at its first write. If two processes create
 * one at once, both keys open, because sealed content names its key; later writers use the first by id, or the one that they met first.
 * Also owns the keys with which one read opens. It neither unwraps nor caches keys (see data-keys.ts).
 */

import type { KeyObject } from 'node:crypto';
import type { SealingKey } from '@tidemark/codec';
import { CorruptError, keepLast, type TenantId, type WorkflowId } from '@tidemark/core';
import { isForSecrets, type KeyStore, type RecordOwner } from '@tidemark/ports';
import { batched } from '@tidemark/ports/batched';
import type { DataKeys } from './data-keys.ts';
import { isKeyOf, takesPlain } from './key-owner.ts';
import { DATA_KEYS_AT_ONCE } from './limits.ts';

/** Workflows whose data key's id a process remembers. */
const WORKFLOW_KEYS_MAX_COUNT = 20_000;

export class WorkflowKeys {
  readonly #keys: DataKeys;
  readonly #store: Pick<KeyStore, 'list'>;
  /** Ids by workflow, least recently used first. */
  readonly #ids = new Map<WorkflowId, string>();
  readonly #finding = new Map<WorkflowId, Promise<SealingKey>>();
  /** The ids of a workflow's keys, read in batches. */
  readonly #idsOf: (owner: RecordOwner) => Promise<readonly string[]>;

  /** `keys` have one use, `store` has all; keys of another use are skipped, and so are keys whose ids don't fit their workflows. */
  constructor(keys: DataKeys, store: Pick<KeyStore, 'list'>) {
    this.#keys = keys;
    this.#store = store;
    this.#idsOf = batched(DATA_KEYS_AT_ONCE, (owners) => this.#listed(owners));
  }

  /** The cached key; undefined: it must be found. */
  peek({ workflow }: Pick<RecordOwner, 'workflow'>): SealingKey | undefined {
    const id = this.#ids.get(workflow);
    const key = id === undefined ? undefined : this.#keys.peek(id);
    return id === undefined || key === undefined ? undefined : { id, key };
  }

  /** The key with which this process seals the workflow's events; undefined: it has sealed none. Throws what `DataKeys.key` throws. */
  async inUse(workflow: WorkflowId): Promise<SealingKey | undefined> {
    const id = this.#ids.get(workflow);
    const key = id === undefined ? null : await this.#keys.key(id, workflow);
    return id === undefined || key === null ? undefined : { id, key };
  }

  /**
   * The workflow's key, which is created if there is none. Throws what `DataKeys.create` and `DataKeys.key` throw: a new key never takes
   * the place of a missing one.
   */
  async find(owner: RecordOwner): Promise<SealingKey> {
    const { workflow } = owner;
    let finding = this.#finding.get(workflow);
    if (finding === undefined) {
      finding = this.#findOrMake(owner).finally(() => this.#finding.delete(workflow));
      this.#finding.set(workflow, finding);
    }
    return finding;
  }

  async #findOrMake(owner: RecordOwner): Promise<SealingKey> {
    const { workflow } = owner;
    const known = this.#ids.get(workflow);
    for (const id of known === undefined ? await this.#idsOf(owner) : [known]) {
      const key = await this.#keys.key(id, workflow);
      if (key !== null) return this.#use(workflow, { id, key });
    }
    return this.#use(workflow, await this.#keys.create(owner));
  }

  /** With the tenant, the stores find keys by an index. */
  async #listed(owners: readonly RecordOwner[]): Promise<readonly (readonly string[])[]> {
    const ids = new Map<string, string[]>(owners.map(({ tenant, workflow }) => [nameOf(tenant, workflow), []]));
    for (const [tenant, own] of Map.groupBy(owners, (owner) => owner.tenant)) {
      const workflow = [...new Set(own.map((owner) => owner.workflow))];
      for await (const key of this.#store.list({ tenant, workflow })) {
        const isOurs = isForSecrets(key) === this.#keys.isForSecrets && isKeyOf(key.id, key.workflow);
        if (isOurs) ids.get(nameOf(tenant, key.workflow))!.push(key.id);
      }
    }
    return owners.map(({ tenant, workflow }) => ids.get(nameOf(tenant, workflow))!);
  }

  /** All keys of the workflow: several if two processes created one at once. Creates one if there is none. */
  async all(owner: RecordOwner): Promise<readonly [SealingKey, ...SealingKey[]]> {
    const first = await this.find(owner);
    const others: SealingKey[] = [];
    for (const id of await this.#idsOf(owner)) {
      const key = id === first.id ? null : await this.#keys.key(id, owner.workflow);
      if (key !== null) others.push({ id, key });
    }
    return [first, ...others];
  }

  /** Whether a person has accepted the workflow's history from before it had a key. */
  async takesPlain(owner: RecordOwner): Promise<boolean> {
    return (await this.#idsOf(owner)).some((id) => takesPlain(id, owner.workflow));
  }

  /**
   * Records a person's acceptance of plain history, by a key that says so. False: it was accepted before. Throws what `DataKeys.create`
   * throws.
   */
  async takePlain(owner: RecordOwner): Promise<boolean> {
    if (await this.takesPlain(owner)) return false;
    await this.#keys.create(owner, 'plain');
    return true;
  }

  /** Those workflows of which the store has a key, whatever their tenants. */
  async withKeys(workflows: readonly WorkflowId[]): Promise<ReadonlySet<WorkflowId>> {
    const found = new Set<WorkflowId>();
    for await (const key of this.#store.list({ workflow: workflows })) {
      if (isForSecrets(key) === this.#keys.isForSecrets) found.add(key.workflow);
    }
    return found;
  }

  #use(workflow: WorkflowId, key: SealingKey): SealingKey {
    keepLast(this.#ids, workflow, key.id, WORKFLOW_KEYS_MAX_COUNT);
    return key;
  }

  /** The cached key for opening; undefined: ask `opening`. */
  peekOpening(id: string): KeyObject | undefined {
    return this.#keys.peek(id);
  }

  /**
   * The key for each id, with the workflow that names it; null: it was destroyed; `key-missing`, `sealed-wrong`: it can never be had.
   * Otherwise throws what `DataKeys.key` throws.
   */
  async opening(
    wanted: ReadonlyMap<string, WorkflowId | undefined>,
  ): Promise<ReadonlyMap<string, KeyObject | null | CorruptError>> {
    return new Map(
      await Promise.all(
        Array.from(wanted, async ([id, workflow]) => {
          const key = await this.#keys.key(id, workflow).catch(orNever);
          if (key !== null && !(key instanceof CorruptError)) this.#meet(id, key);
          return [id, key] as const;
        }),
      ),
    );
  }

  /** The workflow of a cached key, by the store. */
  workflowOf(id: string): WorkflowId | undefined {
    return this.#keys.workflowOf(id);
  }

  /**
   * Remembers the key, because a process that reads a workflow mostly writes to it next. Its workflow comes from the store, because the
   * name in the content could be forged.
   */
  #meet(id: string, key: KeyObject): void {
    const workflow = this.#keys.workflowOf(id);
    if (workflow !== undefined && !this.#ids.has(workflow)) this.#use(workflow, { id, key });
  }
}

const nameOf = (tenant: TenantId, workflow: WorkflowId): string => JSON.stringify([tenant, workflow]);

const NEVER: ReadonlySet<string> = new Set(['key-missing', 'sealed-wrong']);

/** A key that the provider can't unwrap (`key-wrong`) may belong to a provider that is configured later: the read fails. */
function orNever(error: unknown): CorruptError {
  if (error instanceof CorruptError && NEVER.has(error.code)) return error;
  throw error;
}

/**
 * The keys of one read, from its first look-up to its end, so that a key which the cache drops meanwhile is not requested twice. A key that
 * could not be had is never taken for destroyed, and no content is opened, or taken for forgotten, by the key of another workflow.
 */
export class OpeningKeys {
  readonly #keys: Pick<WorkflowKeys, 'peekOpening' | 'opening' | 'workflowOf'>;
  readonly #found = new Map<string, KeyObject | null | CorruptError>();
  readonly #wanted = new Map<string, WorkflowId | undefined>();

  constructor(keys: Pick<WorkflowKeys, 'peekOpening' | 'opening' | 'workflowOf'>) {
    this.#keys = keys;
  }

  /**
   * The key for content of the workflow; undefined workflow: the caller only compares, and doesn't know whose content it is. Null: it was
   * destroyed. Undefined: `fetched` will fetch it. Throws `CorruptError` (`key-missing`; `sealed-wrong`: it belongs to another workflow, or
   * has another use).
   */
  of(id: string, workflow: WorkflowId | undefined): KeyObject | null | undefined {
    // Checked before any request, so that a forged id causes no call; the id of a cached key was checked when it was fetched.
    const isOwn = workflow === undefined || this.#keys.workflowOf(id) === workflow || isKeyOf(id, workflow);
    if (!isOwn) throw foreignKey(id, workflow!);
    const key = this.#found.get(id) ?? (this.#found.has(id) ? null : this.#keys.peekOpening(id));
    if (key instanceof CorruptError) throw key;
    if (key === undefined) {
      if (!this.#wanted.has(id)) this.#wanted.set(id, workflow);
      return undefined;
    }
    this.#found.set(id, key);
    return key;
  }

  /** Fetches missing keys; false: none were missing. Throws what `DataKeys.key` throws. */
  async fetched(): Promise<boolean> {
    if (this.#wanted.size === 0) return false;
    const wanted = new Map(this.#wanted);
    for (const [id, key] of await this.#keys.opening(wanted)) this.#found.set(id, key);
    this.#wanted.clear();
    return true;
  }
}

const foreignKey = (id: string, workflow: WorkflowId): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `What is stored of workflow ${workflow} names the data key ${id}, which isn't its own: it was changed. Nothing was taken from it.`,
    { workflow, key: id },
  );

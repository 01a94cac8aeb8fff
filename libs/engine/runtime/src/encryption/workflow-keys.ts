/**
 * Owns which data key seals what a workflow writes, or its secret fields: its own, made when it first writes. What two processes make at once both open, since
 * everything that is sealed names its key; the first by id is used from then on, or the one that the process met first. Owns too what one read opens with. Must not unwrap or
 * keep keys (see data-keys.ts).
 */

import type { KeyObject } from 'node:crypto';
import type { SealingKey } from '@tidemark/codec';
import { CorruptError, type TenantId, type WorkflowId } from '@tidemark/core';
import { isForSecrets, type KeyStore, type RecordOwner } from '@tidemark/ports';
import { batched } from '../kernel/index.ts';
import type { DataKeys } from './data-keys.ts';
import { isKeyOf, takesPlain } from './key-owner.ts';
import { DATA_KEYS_AT_ONCE, WORKFLOW_KEYS_MAX_COUNT } from './limits.ts';

export class WorkflowKeys {
  readonly #keys: DataKeys;
  readonly #store: Pick<KeyStore, 'list'>;
  /** Ids by workflow, least recently used first. */
  readonly #ids = new Map<WorkflowId, string>();
  readonly #finding = new Map<WorkflowId, Promise<SealingKey>>();
  /** The keys of one of a batch of workflows, by id. */
  readonly #idsOf: (owner: RecordOwner) => Promise<readonly string[]>;

  /** `keys` and `store`: of one use, and of all; keys of another use are passed over, and those whose ids aren't their workflows'. */
  constructor(keys: DataKeys, store: Pick<KeyStore, 'list'>) {
    this.#keys = keys;
    this.#store = store;
    this.#idsOf = batched(DATA_KEYS_AT_ONCE, (owners) => this.#listed(owners));
  }

  /** The key that is at hand; undefined: it must be found. */
  peek({ workflow }: Pick<RecordOwner, 'workflow'>): SealingKey | undefined {
    const id = this.#ids.get(workflow);
    const key = id === undefined ? undefined : this.#keys.peek(id);
    return id === undefined || key === undefined ? undefined : { id, key };
  }

  /** The key that this process seals the workflow's events with; undefined: it has sealed none. Throws as `DataKeys.key` does. */
  async inUse(workflow: WorkflowId): Promise<SealingKey | undefined> {
    const id = this.#ids.get(workflow);
    const key = id === undefined ? null : await this.#keys.key(id, workflow);
    return id === undefined || key === null ? undefined : { id, key };
  }

  /** Throws as `DataKeys.create` and `DataKeys.key` do: no new key takes the place of one that is missing. */
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

  /** With the tenant the stores find them by an index. */
  async #listed(owners: readonly RecordOwner[]): Promise<readonly (readonly string[])[]> {
    const ids = new Map<string, string[]>(owners.map(({ tenant, workflow }) => [nameOf(tenant, workflow), []]));
    for (const [tenant, own] of Map.groupBy(owners, (owner) => owner.tenant)) {
      const workflow = [...new Set(own.map((owner) => owner.workflow))];
      for await (const key of this.#store.list({ tenant, workflow })) {
        const isOurs = isForSecrets(key) === this.#keys.isForSecrets && isKeyOf(key.id, key.workflow) !== false;
        if (isOurs) ids.get(nameOf(tenant, key.workflow))!.push(key.id);
      }
    }
    return owners.map(({ tenant, workflow }) => ids.get(nameOf(tenant, workflow))!);
  }

  /** All that the workflow has: more than one where two processes made theirs at once. Makes one where there is none. */
  async all(owner: RecordOwner): Promise<readonly [SealingKey, ...SealingKey[]]> {
    const first = await this.find(owner);
    const others: SealingKey[] = [];
    for (const id of await this.#idsOf(owner)) {
      const key = id === first.id ? null : await this.#keys.key(id, owner.workflow);
      if (key !== null) others.push({ id, key });
    }
    return [first, ...others];
  }

  /** Whether the workflow's history from before it had a key was taken by a person's word. */
  async takesPlain(owner: RecordOwner): Promise<boolean> {
    return (await this.#idsOf(owner)).some((id) => takesPlain(id, owner.workflow));
  }

  /** A person takes it: the workflow has a key that says so. False: it was taken before. Throws as `DataKeys.create` does. */
  async takePlain(owner: RecordOwner): Promise<boolean> {
    if (await this.takesPlain(owner)) return false;
    await this.#keys.create(owner, 'plain');
    return true;
  }

  /** Those of them of which the store has a key, whatever their tenants. */
  async withKeys(workflows: readonly WorkflowId[]): Promise<ReadonlySet<WorkflowId>> {
    const found = new Set<WorkflowId>();
    for await (const key of this.#store.list({ workflow: workflows })) {
      if (isForSecrets(key) === this.#keys.isForSecrets) found.add(key.workflow);
    }
    return found;
  }

  #use(workflow: WorkflowId, key: SealingKey): SealingKey {
    this.#ids.delete(workflow);
    this.#ids.set(workflow, key.id);
    if (this.#ids.size > WORKFLOW_KEYS_MAX_COUNT) this.#ids.delete(this.#ids.keys().next().value!);
    return key;
  }

  /** What opens it, at hand; undefined: ask `opening`. */
  peekOpening(id: string): KeyObject | undefined {
    return this.#keys.peek(id);
  }

  /**
   * What opens each, by the workflow that names it; null: it was destroyed; `key-missing`, `sealed-wrong`: it never will. Throws as
   * `DataKeys.key` does otherwise.
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

  /** Whose a key at hand is, as the store says. */
  workflowOf(id: string): WorkflowId | undefined {
    return this.#keys.workflowOf(id);
  }

  /**
   * Whoever reads a workflow mostly writes next: it needn't look for the key. Whose it is the store says, not what names it, which could
   * be forged.
   */
  #meet(id: string, key: KeyObject): void {
    const workflow = this.#keys.workflowOf(id);
    if (workflow !== undefined && !this.#ids.has(workflow)) this.#use(workflow, { id, key });
  }
}

const nameOf = (tenant: TenantId, workflow: WorkflowId): string => JSON.stringify([tenant, workflow]);

const NEVER: ReadonlySet<string> = new Set(['key-missing', 'sealed-wrong']);

/** A key that the provider can't unwrap (`key-wrong`) may be for one that is named later: the read fails. */
function orNever(error: unknown): CorruptError {
  if (error instanceof CorruptError && NEVER.has(error.code)) return error;
  throw error;
}

/**
 * The keys of one read, from its first look until it is over: one that the cache gives up meanwhile, being too old or too many, is not
 * asked for twice. What could be had neither way is never taken for destroyed, and nobody's content is opened, or explained as forgotten,
 * by another's key.
 */
export class OpeningKeys {
  readonly #keys: Pick<WorkflowKeys, 'peekOpening' | 'opening' | 'workflowOf'>;
  readonly #found = new Map<string, KeyObject | null | CorruptError>();
  readonly #wanted = new Map<string, WorkflowId | undefined>();

  constructor(keys: Pick<WorkflowKeys, 'peekOpening' | 'opening' | 'workflowOf'>) {
    this.#keys = keys;
  }

  /**
   * For content of the workflow; undefined: of one that only compares, and isn't told whose it is. Null: it was destroyed. Undefined: it must be fetched, and will be by `fetched`. Throws `CorruptError`
   * (`key-missing`; `sealed-wrong`: it is another workflow's, or for something else).
   */
  of(id: string, workflow: WorkflowId | undefined): KeyObject | null | undefined {
    // Before anybody is asked for it: whoever forges an id buys no call with it. Of a key at hand it was judged when it was fetched.
    const isOwn = workflow === undefined || this.#keys.workflowOf(id) === workflow || isKeyOf(id, workflow);
    if (isOwn === false) throw foreignKey(id, workflow!);
    const key = this.#found.get(id) ?? (this.#found.has(id) ? null : this.#keys.peekOpening(id));
    if (key instanceof CorruptError) throw key;
    if (key === undefined) {
      if (!this.#wanted.has(id)) this.#wanted.set(id, workflow);
      return undefined;
    }
    if (isOwn === undefined && !this.#mayBeOf(id, workflow!, key)) throw foreignKey(id, workflow!);
    this.#found.set(id, key);
    return key;
  }

  /** Of an id that doesn't say: a destroyed key explains nothing, since nobody knows whose it was. */
  #mayBeOf(id: string, workflow: WorkflowId, key: KeyObject | null): boolean {
    return key !== null && (this.#keys.workflowOf(id) ?? workflow) === workflow;
  }

  /** Fetches what was lacking; false: nothing was. Throws as `DataKeys.key` does. */
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

/**
 * Owns who may do what, as every door of the system asks it: principals, roles, rights. How a caller proves who it is belongs to
 * the access library; which right a route needs belongs to the route.
 *
 * R1 A principal of a tenant sees nothing of another tenant (I9): what is another's is told as unknown, never as forbidden.
 * R2 Content (inputs, outputs, belief, texts, prompts) is read by those alone who might run the workflow.
 * R3 Fields that a schema marks as secret are shown to those alone who have the right to secrets; others see a mask in their place.
 * R4 Who reads content is written down before it is shown; who does or decides anything at once after it, which the log has besides.
 */

import type { TenantId } from '@tidemark/core';

export const ROLES = ['viewer', 'operator', 'approver', 'worker', 'admin', 'scaler'] as const;
export type Role = (typeof ROLES)[number];

/**
 * `read`: that workflows exist, their states and numbers; `content`: what is in them; `secrets`: fields in it that schemas
 * mark as secret; `operate`: start, signal, fork, cancel, pause,
 * retry; `decide`: answer questions and approvals;
 * `report`: write in a worker's name (shadow runs, confirmations); `administer`: keys, tenants, budgets, retention, the audit log;
 * `scale`: how much work there is for each pool of workers, and nothing else.
 */
export const RIGHTS = ['read', 'content', 'secrets', 'operate', 'decide', 'report', 'administer', 'scale'] as const;
export type Right = (typeof RIGHTS)[number];

const RIGHTS_OF: Readonly<Record<Role, readonly Right[]>> = {
  viewer: ['read', 'scale'],
  operator: ['read', 'content', 'operate', 'scale'],
  // Who decides must see what is asked.
  approver: ['read', 'content', 'decide', 'scale'],
  // What runs the workflow works with what it holds.
  worker: ['read', 'content', 'secrets', 'operate', 'report', 'scale'],
  admin: RIGHTS,
  // What an autoscaler is given.
  scaler: ['scale'],
};

export interface Principal {
  /** Stable name of who it is, for audit: a key's id, a token's subject; never a secret. */
  readonly subject: string;
  /** Null: every tenant's (the platform team itself). */
  readonly tenant: TenantId | null;
  readonly roles: readonly Role[];
  /** `local`: the owner of an embedded folder, over loopback. */
  readonly kind: 'key' | 'token' | 'local';
  /** By which tasks ask for it besides its subject and its roles: `user:…`, `group:…`, `team:…`. */
  readonly names?: readonly string[] | undefined;
}

export const mayDo = ({ roles }: Pick<Principal, 'roles'>, right: Right): boolean =>
  roles.some((role) => RIGHTS_OF[role].includes(right));

/** What a caller shows of itself. */
export interface Credentials {
  /** The `Authorization` header as it came. */
  readonly authorization: string | undefined;
}

export interface Authenticator {
  /**
   * Who it is. Throws `AccessError` (`credentials-missing`, `credentials-invalid`, `credentials-expired`), the same for all
   * that can't be told apart from outside; `UnavailableError` while keys can't be looked up.
   */
  authenticate(credentials: Credentials): Promise<Principal>;
  /** What is remembered of it counts no more here: it was just changed. */
  forget?(changed: AccessChanged): void;
}

/** The public id of a key, or a tenant. */
export type AccessChanged = { readonly key: string } | { readonly tenant: TenantId };

/** Who did what to what. Never a payload, a credential or an error's text: names, ids and codes. */
export interface AuditEntry {
  readonly principal: Principal;
  /** Whose thing it was; null: no tenant's, or not known here. */
  readonly tenant: TenantId | null;
  /** The target is a workflow's id: where `tenant` is null, it is as its row says. Nothing else's name says whose it is. */
  readonly isWorkflow?: boolean | undefined;
  /** Stable name of what was done: the operation's id in the API, such as `readCheckpoint`. */
  readonly action: string;
  readonly right: Right;
  /** What it was done to: a workflow's id, a key's. */
  readonly target?: string | undefined;
  readonly outcome: 'done' | 'refused' | 'failed';
  /** The error's, where it was not done. */
  readonly code?: string | undefined;
}

export interface AuditTrail {
  /**
   * Asks before anything is read or done that is to be written down. Throws `UnavailableError` (`audit-behind`) while the log has not
   * taken what came before of this tenant's (null: of no tenant's): then nothing of its may be read or done.
   */
  admit(tenant: TenantId | null): void;
  /** Takes the entry, which is in the log within a named time: for what stands in the log by itself. */
  record(entry: AuditEntry): void;
  /**
   * Resolves when the log has the entry: call it before content is shown (R4). Throws `UnavailableError` (`audit-behind`) when the log doesn't
   * take it within a named time (it may be written later); `TidemarkError` (`audit-unwritable`) when it never will be.
   */
  write(entry: AuditEntry): Promise<void>;
}

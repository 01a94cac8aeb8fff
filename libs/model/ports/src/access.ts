/**
 * Owns who may do what, as every entry point of the system checks it: principals, roles, rights. How a caller proves its identity belongs
 * to the access library; which right a route needs belongs to the route.
 *
 * R1 A principal of a tenant sees nothing of another tenant (I9): what belongs to another is reported as unknown, never as forbidden.
 * R2 Content (inputs, outputs, belief, texts, prompts) is shown only to principals who might run the workflow.
 * R3 Fields that a schema marks as secret are shown only with the right to secrets; others see a mask in their place.
 * R4 Reading content is audited before the content is shown. A decision or an operation is audited right after it: the log has it anyway.
 */

import type { TenantId } from '@tidemark/core';

export const ROLES = ['viewer', 'operator', 'approver', 'worker', 'admin', 'scaler'] as const;
export type Role = (typeof ROLES)[number];

/**
 * `read`: that workflows exist, their states and numbers; `content`: what they contain; `secrets`: fields that schemas mark as secret;
 * `operate`: start, signal, fork, cancel, pause, retry; `decide`: answer questions and approvals; `report`: write as a worker (shadow runs,
 * confirmations); `administer`: keys, tenants, budgets, retention, the audit log; `scale`: how much work each pool of workers has, and
 * nothing else.
 */
export const RIGHTS = ['read', 'content', 'secrets', 'operate', 'decide', 'report', 'administer', 'scale'] as const;
export type Right = (typeof RIGHTS)[number];

const RIGHTS_OF: Readonly<Record<Role, readonly Right[]>> = {
  viewer: ['read', 'scale'],
  operator: ['read', 'content', 'operate', 'scale'],
  // A principal who decides must see the question.
  approver: ['read', 'content', 'decide', 'scale'],
  // A worker uses what the workflow contains.
  worker: ['read', 'content', 'secrets', 'operate', 'report', 'scale'],
  admin: RIGHTS,
  // For an autoscaler.
  scaler: ['scale'],
};

export interface Principal {
  /** Stable name of the principal, for the audit log: the id of a key, the subject of a token; never a secret. */
  readonly subject: string;
  /** Null: all tenants (the platform team itself). */
  readonly tenant: TenantId | null;
  readonly roles: readonly Role[];
  /** `local`: the owner of an embedded folder, over loopback. */
  readonly kind: 'key' | 'token' | 'local';
  /** Names, besides subject and roles, under which tasks address it: `user:…`, `group:…`, `team:…`. */
  readonly names?: readonly string[] | undefined;
}

export const mayDo = ({ roles }: Pick<Principal, 'roles'>, right: Right): boolean =>
  roles.some((role) => RIGHTS_OF[role].includes(right));

/** What a caller presents. */
export interface Credentials {
  /** The `Authorization` header, unchanged. */
  readonly authorization: string | undefined;
}

export interface Authenticator {
  /**
   * Identifies the caller. Throws `AccessError` (`credentials-missing`, `credentials-invalid`, `credentials-expired`), with one text for
   * all causes that an outsider must not distinguish; `UnavailableError` while keys can't be read.
   */
  authenticate(credentials: Credentials): Promise<Principal>;
  /** Drops what is cached about a key or tenant that has just changed. */
  forget?(changed: AccessChanged): void;
}

/** The public id of a key, or a tenant. */
export type AccessChanged = { readonly key: string } | { readonly tenant: TenantId };

/** Who did what to what. Names, ids and codes; never a payload, a credential or the text of an error. */
export interface AuditEntry {
  readonly principal: Principal;
  /** The tenant that owns the target; null: none, or it is unknown here. */
  readonly tenant: TenantId | null;
  /**
   * The target is a workflow's id: where `tenant` is null, the row of the workflow says it. For other targets the name says nothing about
   * the tenant.
   */
  readonly isWorkflow?: boolean | undefined;
  /** Stable name of the action: the operation's id in the API, such as `readCheckpoint`. */
  readonly action: string;
  readonly right: Right;
  /** The target of the action: the id of a workflow or of a key. */
  readonly target?: string | undefined;
  readonly outcome: 'done' | 'refused' | 'failed';
  /** Code of the error, when the action failed. */
  readonly code?: string | undefined;
}

export interface AuditTrail {
  /**
   * Call it before an audited action. Throws `UnavailableError` (`audit-behind`) while earlier entries of this tenant (null: of no tenant)
   * are not in the log yet: until then nothing of the tenant may be read or done.
   */
  admit(tenant: TenantId | null): void;
  /** Queues the entry, which reaches the log within a named time: for actions that the log records by themselves. */
  record(entry: AuditEntry): void;
  /**
   * Resolves when the log has the entry: call it before content is shown (R4). Throws `UnavailableError` (`audit-behind`) when the log
   * doesn't take the entry within a named time (it may be written later); `TidemarkError` (`audit-unwritable`) when it can never be
   * written.
   */
  write(entry: AuditEntry): Promise<void>;
}

/** Owns the reads of a workflow's projected context, and of what calls spend. Knows no client: a subclass runs the statements. */

import { type Sequence, type Sha256, type TenantId, UnavailableError, type WorkflowId } from '@tidemark/core';
import type {
  ContextStore,
  FragmentWithText,
  NamedText,
  ScopeRow,
  SessionWorkflow,
  Spends,
  UserWorkflow,
} from '@tidemark/ports';
import * as context from './sql/read-context.ts';
import * as history from './sql/read-history.ts';
import { readSpent, spendsOf } from './sql/spends.ts';
import { type Rows, type Statement, textAt } from './sql-client.ts';

export abstract class SqlContext implements ContextStore {
  /** Runs one statement by its name. */
  protected abstract read(statement: Statement): Promise<Rows>;

  async fragments(workflow: WorkflowId, upTo: Sequence): Promise<readonly FragmentWithText[]> {
    const rows = await this.read(context.readFragments(workflow, upTo));
    return readyOr(history.whenReady(rows, context.fragmentOf(workflow)));
  }

  async texts(workflow: WorkflowId, digests: readonly Sha256[]): Promise<readonly NamedText[]> {
    const rows = await this.read(context.readTexts(workflow, digests));
    return rows.map((row) => ({ digest: textAt(row, 0), text: textAt(row, 1) }));
  }

  async trace(workflow: WorkflowId, upTo: Sequence, count: number) {
    return readyOr(context.traceOf(await this.read(context.readTrace(workflow, upTo, count))));
  }

  async scopes(workflow: WorkflowId, upTo: Sequence): Promise<readonly ScopeRow[]> {
    return readyOr(history.whenReady(await this.read(context.readScopes(workflow, upTo)), context.scopeOf(workflow)));
  }

  async session(tenant: TenantId, session: string, limit: number): Promise<readonly SessionWorkflow[]> {
    return (await this.read(context.readSession(tenant, session, limit))).map(context.sessionWorkflowOf);
  }

  async userWorkflows(
    tenant: TenantId,
    user: string,
    after: WorkflowId | null,
    limit: number,
  ): Promise<readonly UserWorkflow[]> {
    return (await this.read(context.readUserWorkflows(tenant, user, after, limit))).map(context.userWorkflowOf);
  }

  async spent(tenant: TenantId, user: string | null, sinceMs: number): Promise<Spends> {
    return spendsOf((await this.read(readSpent(tenant, user, sinceMs)))[0] ?? []);
  }
}

/** Returns what was read, unless the rows were being rebuilt: they are incomplete then. */
export function readyOr<T>(read: T | undefined): T {
  if (read !== undefined) return read;
  throw new UnavailableError('store-rebuilding', 'The rows are being rebuilt from the log; try again later');
}

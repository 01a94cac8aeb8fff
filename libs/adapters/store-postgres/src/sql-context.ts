/** Owns the reads of a workflow's projected context, and of what calls spend. Knows no client: a subclass runs the statements. */

import type { Sequence, Sha256, TenantId, WorkflowId } from '@tidemark/core';
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
import { readSpent, spendsOf } from './sql/spends.ts';
import { textAt } from './sql-client.ts';
import { readyOr, SqlReads } from './sql-reads.ts';

export abstract class SqlContext extends SqlReads implements ContextStore {
  fragments(workflow: WorkflowId, upTo: Sequence): Promise<readonly FragmentWithText[]> {
    return this.readReady(context.readFragments(workflow, upTo), context.fragmentOf(workflow));
  }

  texts(workflow: WorkflowId, digests: readonly Sha256[]): Promise<readonly NamedText[]> {
    return this.readAll(context.readTexts(workflow, digests), (row) => ({
      digest: textAt(row, 0),
      text: textAt(row, 1),
    }));
  }

  async trace(workflow: WorkflowId, upTo: Sequence, count: number) {
    return readyOr(context.traceOf(await this.read(context.readTrace(workflow, upTo, count))));
  }

  scopes(workflow: WorkflowId, upTo: Sequence): Promise<readonly ScopeRow[]> {
    return this.readReady(context.readScopes(workflow, upTo), context.scopeOf(workflow));
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

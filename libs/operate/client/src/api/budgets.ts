/** Owns the types of the API's chapter "Budgets". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface BudgetsEndpoints {
  /** Budgets of a tenant and of one of its users, with what was spent of them */
  readonly 'GET /v1/budgets': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** A user's; without it the tenant's own. */
            readonly user?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly budgets: readonly {
        readonly of: string;
        readonly tokens: number | null;
        readonly cost_micros: number | null;
        readonly period: string;
        readonly spent: Spend;
        readonly reserved: Spend;
      }[];
    };
  };
  /** Set or remove a budget */
  readonly 'PUT /v1/budgets': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** A user's; without it the tenant's own. */
            readonly user?: string | undefined;
          }
        | undefined;
      readonly body?: Budget | undefined;
    };
    readonly answer: {
      readonly tenant: string;
      readonly user: string | null;
    };
  };
  /** What a workflow has spent, and what was added to its budgets */
  readonly 'GET /v1/workflows/{workflow}/budget': {
    readonly input: unknown;
    readonly answer: {
      readonly workflow: string;
      readonly tenant: string;
      readonly user: string | null;
      /** Spent and reserved. */
      readonly spent: Spend;
      readonly raised: Spend;
    };
  };
  /** Let a workflow spend more */
  readonly 'POST /v1/workflows/{workflow}/budget': {
    readonly input: { readonly body: BudgetRaise };
    readonly answer: {
      readonly workflow: string;
    };
  };
}

export interface Spend {
  readonly tokens: number;
  readonly cost_micros: number;
}

export interface Budget {
  readonly tokens?: number | undefined;
  readonly cost_micros?: number | undefined;
  readonly period?: 'hour' | 'day' | 'month' | 'total' | undefined;
}

export interface BudgetRaise {
  readonly tokens?: number | undefined;
  readonly cost_micros?: number | undefined;
  /** Why; kept with the event. */
  readonly why: string;
}

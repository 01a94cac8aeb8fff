/** Owns the types of the API's chapter "Shadows". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface ShadowsEndpoints {
  /** How the observed runs of an agent compare */
  readonly 'GET /v1/shadows/{definition}': {
    readonly input: {
      readonly query?:
        | {
            readonly differences?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly answer: Shadow;
  };
  /** Observe, or run, another share of an agent’s runs */
  readonly 'POST /v1/shadows/{definition}/promotions': {
    readonly input: { readonly body?: ShadowPromotion | undefined };
    readonly answer: ShadowPromoted;
  };
  /** Who runs a workflow of an agent */
  readonly 'GET /v1/shadows/{definition}/routes/{id}': { readonly input: unknown; readonly answer: ShadowRoute };
}

/** How the observed runs of an agent compare since its share was set. */
export interface Shadow {
  readonly definition: string;
  /** Percent of its workflows; 0: none is observed. */
  readonly share: number;
  /** Percent that Tidemark runs itself, of those; 0: the agent runs all. */
  readonly active: number;
  readonly since: string | null;
  readonly by: string | null;
  /** What was asked for when it was promoted. */
  readonly observe_ms: number | null;
  readonly runs_min: number | null;
  /** Steps that were compared. */
  readonly steps: number;
  /** Runs that ended and agree in everything. */
  readonly agreed: number;
  readonly differing: number;
  readonly open: number;
  /** Runs of which reports were lost. */
  readonly incomplete: number;
  readonly difference_count: number;
  /** Older runs were not compared. */
  readonly cut: boolean;
  /** The first 1,000. */
  readonly differences?:
    | readonly {
        readonly workflow: string;
        /** Of the checkpoint; 0: the opening. */
        readonly sequence: number;
        readonly path: string;
        readonly what: string;
      }[]
    | undefined;
}

export interface ShadowPromotion {
  readonly mode?: 'observe' | 'active' | undefined;
  readonly to?: 0 | 1 | 10 | 50 | 100 | undefined;
  readonly observe_ms?: number | undefined;
  readonly runs?: number | undefined;
}

export interface ShadowPromoted {
  readonly promoted: boolean;
  readonly from: number;
  readonly to: number;
  readonly by: string;
  readonly refusals: readonly {
    readonly code: string;
    readonly message: string;
  }[];
  /** What it was judged by. */
  readonly shadow: Shadow;
}

export interface ShadowRoute {
  readonly route: 'agent' | 'observed' | 'tidemark';
}

/**
 * Owns what a workflow sees of its session and its user: earlier workflows' fragments, and what memory injects at the start. It
 * is found out once a workflow, and every later bundle has the same: what was injected is text of the workflow's own.
 */

import type { BundleOrigin } from '@tidemark/codec';
import type { Json, Sha256, StreamState } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import { SESSION_RUNS_MAX } from './limits.ts';
import type { Ports } from './ports.ts';
import type { WorkflowContext } from './workflow-context.ts';

export interface SessionAround {
  readonly runs: NonNullable<BundleOrigin['session']>;
  readonly continuation: Sha256 | undefined;
  readonly user: Sha256 | undefined;
  /** Texts to be stored with the first call, by digest or by the lane's own name. */
  readonly texts: ReadonlyMap<string, string>;
}

interface Surroundings {
  readonly ports: Pick<Ports, 'digest' | 'memory'> & {
    readonly store: Pick<ProjectionStore, 'fragments' | 'texts' | 'trace' | 'scopes' | 'session'>;
  };
  readonly context: WorkflowContext;
  readonly state: () => StreamState;
  readonly input: () => Json;
}

/** Under these names a workflow's texts say what was found out: which text each lane is, and the earlier workflows. */
const FOUND = 'session:found';

interface Found {
  readonly runs: SessionAround['runs'];
  readonly continuation?: Sha256;
  readonly user?: Sha256;
}

export class SessionContext {
  readonly #around: Surroundings;
  #found: Promise<{ readonly found: Found; readonly texts: ReadonlyMap<string, string> }> | undefined;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** `withRuns`: whether fragments of earlier workflows of the session are wanted. */
  async around(withRuns: boolean): Promise<SessionAround> {
    const { session, user } = this.#around.state();
    if (session === undefined && user === undefined) {
      return { runs: [], continuation: undefined, user: undefined, texts: new Map() };
    }
    this.#found ??= this.#find().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    const { found, texts } = await this.#found;
    return { runs: withRuns ? found.runs : [], continuation: found.continuation, user: found.user, texts };
  }

  async #find() {
    const { ports, state } = this.#around;
    const { workflow } = state();
    const [known] = await ports.store.texts(workflow, [FOUND]);
    if (known !== undefined) return { found: JSON.parse(known.text) as Found, texts: new Map<string, string>() };
    const texts = new Map<string, string>();
    const keep = (sections: readonly string[] = []): Sha256 | undefined => {
      if (sections.length === 0) return undefined;
      const text = JSON.stringify(sections);
      const digest = ports.digest.sha256(text);
      texts.set(digest, text);
      return digest;
    };
    const [runs, injected] = await Promise.all([this.#runs(), this.#injected()]);
    const continuation = keep(injected?.continuation);
    const user = keep(injected?.user);
    const found: Found = { runs, ...(continuation && { continuation }), ...(user && { user }) };
    texts.set(FOUND, JSON.stringify(found));
    return { found, texts };
  }

  /** Workflows of the session that were opened before this one, nearest first. */
  async #runs(): Promise<SessionAround['runs']> {
    const { ports, state } = this.#around;
    const { session, tenant, workflow, user = null } = state();
    if (session === undefined) return [];
    const all = await ports.store.session(tenant, session, SESSION_RUNS_MAX + 1);
    const own = all.find((one) => one.workflow === workflow);
    return all
      .filter(
        (one) => one.workflow !== workflow && one.user === user && (own === undefined || one.lamport < own.lamport),
      )
      .slice(0, SESSION_RUNS_MAX)
      .map((one) => ({ workflow: one.workflow, upTo: one.sequence }));
  }

  async #injected() {
    const { ports, state, context, input } = this.#around;
    if (ports.memory === undefined) return undefined;
    const { tenant, session, user, workflow, head } = state();
    const fragments = await context.fragments(ports.store, workflow, head.sequence);
    const goals = fragments.filter(({ type }) => type === 'task_goal').map(({ text }) => text);
    const query = goals.length > 0 ? goals.join('\n') : JSON.stringify(input());
    return ports.memory.inject({ tenant, session, user, query });
  }
}

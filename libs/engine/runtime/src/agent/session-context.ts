/**
 * Owns what a workflow sees of its session and of memory: fragments of earlier workflows, and what memory injects at the start. It is
 * determined once a workflow, and all later bundles have the same: injected text becomes the workflow's own. A fork sees what its base saw.
 */

import type { BundleOrigin, ForkOrigin } from '@tidemark/codec';
import { type Json, recallArmOf, type Sha256, type StreamState } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import type { Definition } from '../definition/index.ts';
import type { WorkflowContext } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';

/** Earlier workflows of a session that a bundle shows, nearest first. */
const SESSION_RUNS_MAX = 8;

export interface SessionHistory {
  readonly runs: NonNullable<BundleOrigin['session']>;
  readonly continuation: Sha256 | undefined;
  readonly user: Sha256 | undefined;
  /** Texts to store with the first call, by digest or by the fixed name below. */
  readonly texts: ReadonlyMap<string, string>;
}

interface Dependencies {
  readonly ports: Pick<Ports, 'digest' | 'memory'> & {
    readonly store: Pick<ProjectionStore, 'fragments' | 'texts' | 'trace' | 'scopes' | 'session'>;
  };
  readonly definition: Pick<Definition, 'context'>;
  readonly context: WorkflowContext;
  readonly state: () => StreamState;
  readonly input: () => Json;
}

/** The name under which a workflow's texts record what was determined: the texts of each lane, and the earlier workflows. */
const FOUND = 'session:found';

interface Found {
  readonly runs: SessionHistory['runs'];
  readonly continuation?: Sha256;
  readonly user?: Sha256;
}

export class SessionContext {
  readonly #dependencies: Dependencies;
  #found: Promise<{ readonly found: Found; readonly texts: ReadonlyMap<string, string> }> | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** `withRuns`: whether fragments of earlier workflows of the session are wanted. */
  async sessionHistory(withRuns: boolean): Promise<SessionHistory> {
    const { session, user } = this.#dependencies.state();
    const { ports, context } = this.#dependencies;
    const isAlone = session === undefined && user === undefined && context.fork?.session === undefined;
    if (isAlone && ports.memory === undefined) {
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
    const { ports, state } = this.#dependencies;
    const { workflow } = state();
    const [known] = await ports.store.texts(workflow, [FOUND]);
    if (known !== undefined) return { found: JSON.parse(known.text) as Found, texts: new Map<string, string>() };
    const texts = new Map<string, string>();
    const inherited = this.#dependencies.context.fork?.session;
    if (inherited?.found !== undefined) {
      const { of, ...lanes } = inherited.found;
      const found: Found = { runs: inherited.runs, ...lanes };
      for (const { digest, text } of await ports.store.texts(of, Object.values(lanes))) texts.set(digest, text);
      texts.set(FOUND, JSON.stringify(found));
      return { found, texts };
    }
    const keep = (sections: readonly string[] = []): Sha256 | undefined => {
      if (sections.length === 0) return undefined;
      const text = JSON.stringify(sections);
      const digest = ports.digest.sha256(text);
      texts.set(digest, text);
      return digest;
    };
    const [runs, injected] = await Promise.all([inherited?.runs ?? runsBefore(ports.store, state()), this.#injected()]);
    const continuation = keep(injected?.continuation);
    const user = keep(injected?.user);
    const found: Found = { runs, ...(continuation && { continuation }), ...(user && { user }) };
    texts.set(FOUND, JSON.stringify(found));
    return { found, texts };
  }

  async #injected() {
    const { ports, state, context, input } = this.#dependencies;
    const { tenant, session, user, workflow, head, tags } = state();
    if (ports.memory === undefined) return undefined;
    const fragments = await context.fragments(ports.store, workflow, head.sequence);
    const goals = fragments.filter(({ type }) => type === 'task_goal').map(({ text }) => text);
    const query = goals.length > 0 ? goals.join('\n') : JSON.stringify(input());
    const { domains = [] } = this.#dependencies.definition.context ?? {};
    return ports.memory.inject({ tenant, session, user, domains, query, isControl: recallArmOf(tags) === 'control' });
  }
}

type Member = Pick<StreamState, 'session' | 'tenant' | 'workflow' | 'user'>;

/** Workflows of its session that were opened before this one, nearest first. */
async function runsBefore(store: Pick<ProjectionStore, 'session'>, member: Member): Promise<SessionHistory['runs']> {
  const { session, tenant, workflow, user = null } = member;
  if (session === undefined) return [];
  const all = await store.session(tenant, session, SESSION_RUNS_MAX + 1);
  const own = all.find((one) => one.workflow === workflow);
  return all
    .filter((one) => one.workflow !== workflow && one.user === user && (own === undefined || one.lamport < own.lamport))
    .slice(0, SESSION_RUNS_MAX)
    .map((one) => ({ workflow: one.workflow, upTo: one.sequence }));
}

/** What a fork of the workflow sees of the session; `inherited`: what the workflow itself inherited from its own base. */
export async function sessionFor(
  store: Pick<ProjectionStore, 'session' | 'texts'>,
  base: Member,
  inherited: ForkOrigin['session'],
): Promise<ForkOrigin['session']> {
  const [known] = await store.texts(base.workflow, [FOUND]);
  if (known !== undefined) {
    const { runs, ...lanes } = JSON.parse(known.text) as Found;
    return { runs, found: { of: base.workflow, ...lanes } };
  }
  if (inherited !== undefined || base.session === undefined) return inherited;
  return { runs: await runsBefore(store, base) };
}

/** Owns a world for tests of forks, with effects whose calls are counted. Must not be used outside tests. */

import type { Json, WorkflowId } from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import type { Decision, Definition, EffectDefinition, Forked, ForkOptions } from '@tidemark/runtime';
import { effectOf } from './simulated-definition.ts';
import { SimulatedWorld } from './simulated-world.ts';

/** Room for many workflows at once. */
export const FORK_PARTITIONS = 64;

export class ForkWorld extends SimulatedWorld {
  /** Calls that reached the outside, by operation and request. */
  readonly calls: string[] = [];
  /** Keys that probes were called for. */
  readonly probed: string[] = [];

  constructor(log: EventLog) {
    super(log, FORK_PARTITIONS);
  }

  /** Answers each call differently; its probe knows of none. */
  effect(operation: string, spec: Partial<EffectDefinition> = {}): EffectDefinition {
    return effectOf({
      operation,
      call: async (request) => {
        this.calls.push(`${operation} ${JSON.stringify(request)}`);
        return { said: `${operation} ${JSON.stringify(request)} #${this.calls.length}` };
      },
      probe: async (key) => {
        this.probed.push(key);
        return { status: 'not-done' };
      },
      ...spec,
    });
  }

  /** Resolves when it has rows. */
  async fork(of: WorkflowId, options: Partial<ForkOptions> & { readonly at: number }): Promise<Forked> {
    const forked = await this.client.fork(of, { by: 'ann', effects: 'replay', ...options });
    await this.projected();
    return forked;
  }

  /** A workflow that has come to its end. */
  async ended(definition: Definition, input: Json = null, id = 'base', status = 'completed'): Promise<WorkflowId> {
    const base = await this.start(definition, input, { id });
    await this.until(base, status);
    return base;
  }

  async decide(workflow: WorkflowId, decision: Pick<Decision, 'resolution' | 'response'>): Promise<void> {
    const deciding = this.client.decide(workflow, { by: 'ann', why: 'what if', ...decision });
    deciding.catch(() => {});
    await this.ports.clock.run(5_000);
    await deciding;
  }

  outputOf(workflow: WorkflowId): Json {
    return (JSON.parse(this.ports.store.rows.get(workflow)!.result!) as { readonly output: Json }).output;
  }

  streamOf(workflow: WorkflowId) {
    return this.ports.store.rows.get(workflow)!.stream;
  }
}

/** Owns who watches while models answer: one subscription per workflow, however many watch. Nothing of it is stored; a slow reader misses some. */

import type { WorkflowId } from '@tidemark/core';
import type { Client, ModelChunk } from '@tidemark/runtime';
import { type EventSink, eventBytes } from './sink.ts';

interface Watch {
  readonly sinks: Set<EventSink>;
  readonly ending: Promise<() => Promise<void>>;
}

export class Watches {
  readonly #client: Client;
  readonly #watches = new Map<WorkflowId, Watch>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Watches until the connection is gone. Throws as `Client.watch` does. */
  async add(workflow: WorkflowId, sink: EventSink): Promise<void> {
    const watch = this.#watches.get(workflow) ?? this.#begin(workflow);
    watch.sinks.add(sink);
    sink.closed.addEventListener('abort', () => void this.#leave(workflow, watch, sink), { once: true });
    if (sink.closed.aborted) await this.#leave(workflow, watch, sink);
    await watch.ending;
  }

  #begin(workflow: WorkflowId): Watch {
    const sinks = new Set<EventSink>();
    const ending = this.#client.watch(workflow, (reported) => {
      const bytes = eventBytes('delta', JSON.stringify(deltaOf(reported)));
      for (const sink of sinks) sink.writeUnlessBusy(bytes);
    });
    const watch = { sinks, ending };
    this.#watches.set(workflow, watch);
    ending.catch(() => this.#watches.delete(workflow));
    return watch;
  }

  async #leave(workflow: WorkflowId, watch: Watch, sink: EventSink): Promise<void> {
    if (!watch.sinks.delete(sink) || watch.sinks.size > 0) return;
    if (this.#watches.get(workflow) === watch) this.#watches.delete(workflow);
    await watch.ending.then((end) => end()).catch(() => {});
  }
}

const deltaOf = ({ task, delta }: ModelChunk) => ({ task, ...delta });

/**
 * Owns the judgement of signals over the runs of one workflow: signals that arrived, and those that the previous run had not consumed, are
 * inherited by the next run, each with its value. For workflows whose steps consume none. Must not ask the folds what they kept.
 */

import { decodePayload } from '@tidemark/codec';
import type { History } from './witness.ts';

interface Heard {
  /** Ids of signals that it began with, and of those that it took. */
  readonly ids: Set<string>;
  readonly begunWith: Set<string>;
  /** Values in its opening. */
  readonly values: Set<string>;
  continued: string | undefined;
}

/** No signal is lost, and none comes twice. */
export function checkSignals(histories: Iterable<History>): string[] {
  const all = new Map<string, Heard>();
  for (const { entries, verdicts } of histories) {
    for (const [at, entry] of entries.entries()) {
      if (entry.kind !== 'event' || verdicts[at]?.kind !== 'accepted') continue;
      const { envelope, payload } = entry;
      if (envelope.type === 'WorkflowOpened') {
        const begun = (envelope.control.continues?.signals ?? []).map(({ event }) => event);
        const values = Object.keys(decodePayload('WorkflowOpened', payload).signals ?? {});
        all.set(envelope.workflow, {
          ids: new Set(begun),
          begunWith: new Set(begun),
          values: new Set(values),
          continued: undefined,
        });
      }
      const heard = all.get(envelope.workflow);
      if (envelope.type === 'SignalReceived') heard?.ids.add(envelope.id);
      if (envelope.type === 'WorkflowCompleted' && heard !== undefined) heard.continued = envelope.control.continued;
    }
  }
  return [...all].flatMap(([workflow, { ids, continued }]) => {
    const next = continued === undefined ? undefined : all.get(continued);
    if (next === undefined) return [];
    const lost = [...ids].filter((id) => !next.begunWith.has(id) || !next.values.has(id));
    const added = [...next.begunWith].filter((id) => !ids.has(id));
    return [
      ...lost.map((id) => `signals: ${id} came to ${workflow}, and ${continued} did not begin with it`),
      ...added.map((id) => `signals: ${continued} began with ${id}, which never came to ${workflow}`),
    ];
  });
}

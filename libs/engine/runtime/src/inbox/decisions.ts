/**
 * Owns what people and outside systems send to a workflow: the answer to its question, the confirmation of an effect, a signal, a pin. It
 * writes inbox events and waits until the fold has judged them, so the sender knows whether they count. The fold decides; earlier checks
 * here only give clearer messages.
 */

import { canonicalJson, decodePayload, type MemoryWrite, toJson } from '@tidemark/codec';
import {
  ConflictError,
  type Controls,
  type EffectState,
  type EventId,
  eventId,
  InvalidError,
  isClosed,
  isoTime,
  type Json,
  type Lease,
  LimitError,
  leftOf,
  type Resolution,
  SIGNALS_MAX,
  SIGNALS_MAX_BYTES,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { EventRow, WorkflowSummary } from '@tidemark/ports';
import { memoryEvent } from '../agent/index.ts';
import { checkSignal, type Definition, type EffectDefinition } from '../definition/index.ts';
import { haveSecrets, sealedEffects } from '../encryption/index.ts';
import {
  digestOf,
  EFFECT_DONE_BEFORE,
  type Guarded,
  ownContent,
  type Ports,
  type SecretGuard,
  type SecretPorts,
} from '../kernel/index.ts';
import {
  type Confirmation,
  checkDecision,
  checkFits,
  checkName,
  checkText,
  confirmationPayload,
  type Decision,
  parserOf,
  responseFor,
} from '../lease/index.ts';
import { askingOf } from './approvals.ts';
import type { LifecycleAsk } from './lifecycle.ts';
import { DECISION_EVENTS_MAX_COUNT, TOKEN_GRACE_MS } from './limits.ts';
import { closed, type WorkflowInbox } from './workflow-inbox.ts';

export interface Decided {
  readonly workflow: WorkflowId;
  readonly question: EventId;
  readonly resolution: Resolution;
}

export interface Pin {
  readonly pinned: boolean;
  readonly by: string;
  readonly why: string;
}

export interface SignalOptions {
  /** Signals with the same key count once, as long as the key is among the workflow's last 256 inbox events. */
  readonly key?: string | undefined;
  /** If the workflow's definition is among these, name and value are checked against its signals. Absent: neither is checked. */
  readonly definitions?: readonly Definition[] | undefined;
}

/** With a value the signal is amended, without one it is discarded. */
export type SignalChange = LifecycleAsk & Pick<SignalOptions, 'definitions'> & { readonly value?: unknown };

export interface DecisionsOptions {
  readonly ports: Pick<Ports, 'log' | 'store' | 'hints' | 'clock' | 'prng' | 'digest' | 'secrets'> & SecretPorts;
  readonly inbox: WorkflowInbox;
}

export class Decisions {
  readonly #options: DecisionsOptions;
  readonly #inbox: WorkflowInbox;

  constructor(options: DecisionsOptions) {
    this.#options = options;
    this.#inbox = options.inbox;
  }

  /** See `Client.decide`. */
  async decide(workflow: string, asked: Decision, effects: readonly EffectDefinition[]): Promise<Decided> {
    checkDecision(asked);
    // A caller who names no question answers the question of this run, and not that of a run that continues it.
    const { row, state } = await (asked.question === undefined
      ? this.#inbox.exactly(workflow)
      : this.#inbox.find(workflow));
    const decision = await this.#ofThen(row.workflow, state, asked);
    const { question } = state;
    if (question === null || (decision.question ?? question.id) !== question.id) {
      return this.#settled(row, decision, state);
    }
    checkFits(state, question, decision.resolution);
    const isDone = decision.resolution === 'done';
    // It awaits keys only where they are needed, so that the first of two concurrent answers stays first.
    const known = isDone && haveSecrets(effects) ? await sealedEffects(effects, this.#options.ports, state) : effects;
    const guard = this.#inbox.guard(row);
    const isLeft = isDone && decision.response === undefined;
    const answered = isLeft ? { ...decision, response: await this.#recordedBefore(row, question) } : decision;
    const given = isDone ? { response: responseFor(state, question, answered, known) } : {};
    const payload = guard.content('decision', 'decision', { why: decision.why, ...given });
    const { response } = payload.value as { readonly response?: Json };
    const { digest } = this.#options.ports;
    const control = {
      question: question.id,
      resolution: decision.resolution,
      by: decision.by,
      responseDigest: response === undefined ? null : digestOf(digest, response),
    };
    // The same answer of the same person is one event. The fold rejects any other answer after the first.
    const id = eventId(`decide:${question.id}:${digestOf(digest, control)}`);
    const head = guard.names('by', decision.by).as(() => ({ id, control }));
    if (await this.#inbox.write(row, 'ApprovalDecided', head, payload, state)) {
      return { workflow: row.workflow, question: question.id, resolution: decision.resolution };
    }
    return this.#settled(row, { ...decision, question: question.id }, (await this.#inbox.exactly(row.workflow)).state);
  }

  /** What stands for a call of a reset that a person is asked about, in whichever history before it; undefined: its outcome isn't known. */
  async #recordedBefore(
    row: WorkflowSummary,
    { code, task, key }: NonNullable<StreamState['question']>,
  ): Promise<Json | undefined> {
    if (code !== EFFECT_DONE_BEFORE || task === null) return undefined;
    const { store } = this.#options.ports;
    const own = (await store.effects(row.workflow, { task })).find((effect) => effect.key === key);
    const replays = own?.request == null ? undefined : decodePayload('EffectIntended', own.request).replays;
    for (let { fork } = row; fork !== undefined; fork = (await store.workflow(fork.workflow))?.fork) {
      if (!replays?.startsWith(`${fork.workflow}:`)) continue;
      const found = (await store.effects(fork.workflow, {})).find((effect) => effect.key === replays);
      if (found?.status !== 'done') return undefined;
      const resolved = decodePayload('EffectResolved', found.payload);
      return 'response' in resolved ? resolved.response : undefined;
    }
    return undefined;
  }

  /** Adds the question that was open at `openAtMs`. Throws `ConflictError` (`not-asked`) when the current question came later. */
  async #ofThen(workflow: WorkflowId, { question, updatedAtMs }: StreamState, decision: Decision): Promise<Decision> {
    const { openAtMs } = decision;
    if (openAtMs === undefined || decision.question !== undefined) return decision;
    // Nothing has happened since, so no events need to be read. That spares a job over a thousand workflows as many reads.
    if (question !== null && updatedAtMs <= openAtMs) return { ...decision, question: question.id };
    const events = await this.#options.ports.store.events(workflow, DECISION_EVENTS_MAX_COUNT);
    // A question that rows no longer have is older than all of them.
    if (question !== null && !events.some(({ event }) => event === question.id)) {
      return { ...decision, question: question.id };
    }
    const asked = events.findLast(({ type, atMs }) => type === 'WorkflowParked' && atMs <= openAtMs)?.event;
    const before = events.filter(({ atMs }) => atMs < openAtMs);
    if (asked !== undefined && answerIn(before, asked) === undefined) return { ...decision, question: asked };
    if (question === null) return decision;
    const message = `Workflow ${workflow} asks ${question.id} (${question.code}) only since after ${isoTime(openAtMs)}, when the job began. Answer it on its own.`;
    throw new ConflictError('not-asked', message, { workflow, question: question.id });
  }

  /** The question is not open (any more). The same answer is a success; otherwise the error says what was answered. */
  async #settled(row: WorkflowSummary, decision: Decision, state: StreamState): Promise<Decided> {
    const { workflow } = row;
    const asked = decision.question;
    const events =
      asked === undefined ? [] : await this.#options.ports.store.events(workflow, DECISION_EVENTS_MAX_COUNT);
    const answer = asked === undefined ? undefined : answerIn(events, asked);
    if (answer?.resolution === decision.resolution && answer.by === decision.by) {
      return { workflow, question: answer.question, resolution: answer.resolution };
    }
    if (answer !== undefined) {
      const message = `Question ${asked} of ${workflow} was already answered by ${answer.by}: ${answer.resolution}. The first answer counts.`;
      throw new ConflictError('already-decided', message, { workflow, ...answer });
    }
    if (isClosed(state)) throw closed(row);
    if (state.question !== null) {
      const message = `question: ${workflow} doesn't ask ${asked}, but ${state.question.id} (${state.question.code}).`;
      throw new ConflictError('question-differs', message, { workflow, question: state.question.id });
    }
    const task = [...state.frontier.tasks].find((each) => askingOf(each) !== undefined)?.id;
    const message =
      task === undefined
        ? `Workflow ${workflow} is not waiting for a person: it is ${state.status}.`
        : `Workflow ${workflow} asks no question itself, but its task ${task} waits for an approval. Answer that task (--task ${task}); tidemark approvals shows what it asks.`;
    throw new ConflictError('not-asked', message, { workflow, status: state.status, task });
  }

  /** See `Client.confirm`. */
  async confirm(
    id: string,
    token: string,
    confirmation: Confirmation,
    known: readonly EffectDefinition[],
  ): Promise<void> {
    checkName('token', token);
    const outcome = 'error' in confirmation ? 'failed' : 'done';
    const { row, state } = await this.#findToken(id, token);
    const effects = haveSecrets(known) ? await sealedEffects(known, this.#options.ports, state) : known;
    const effect = pendingEffect(state, token);
    if (effect === undefined) {
      if (await this.#wasConfirmed(row, token, confirmation, effects)) return;
      if (isClosed(state)) throw closed(row);
      throw new InvalidError('token-unknown', `token: no effect of ${row.workflow} waits under '${token}'.`, {
        workflow: row.workflow,
        token,
      });
    }
    const given = confirmationPayload(confirmation, parserOf(effect, effects));
    const payload = this.#inbox.guard(row).content('decision', 'confirmation', given);
    const content = 'response' in payload.value ? payload.value.response : (payload.value.error as unknown as Json);
    const responseDigest = digestOf(this.#options.ports.digest, content);
    const control = { token, outcome, responseDigest } as const;
    // The token is the receiver's, and the history has it already.
    const head = ownContent('stored', { id: eventId(`confirm:${effect.pending!.id}:${responseDigest}`), control });
    if (await this.#inbox.write(row, 'EffectConfirmed', head, payload, state)) return;
    if (await this.#wasConfirmed(row, token, confirmation, effects)) return;
    throw new ConflictError('already-confirmed', `The outcome of '${token}' was decided otherwise meanwhile.`, {
      token,
    });
  }

  /** True when the same was confirmed before. Throws when something else was confirmed. */
  async #wasConfirmed(
    row: WorkflowSummary,
    token: string,
    confirmation: Confirmation,
    effects: readonly EffectDefinition[],
  ): Promise<boolean> {
    const { workflow } = row;
    const events = await this.#options.ports.store.events(workflow, DECISION_EVENTS_MAX_COUNT);
    const before = events.findLast((event) => confirmationOf(event)?.token === token);
    if (before === undefined) return false;
    const { outcome } = confirmationOf(before)!;
    const said = 'error' in confirmation ? 'failed' : 'done';
    const guard = this.#inbox.guard(row);
    if (said === outcome && (said === 'failed' || isSameResponse(before, confirmation, effects, guard))) return true;
    const message = `token: '${token}' was already confirmed as ${outcome}${said === outcome ? ', with another response' : ''}. The first confirmation counts.`;
    throw new ConflictError('already-confirmed', message, { workflow, token, outcome });
  }

  /** See `Client.signal`. */
  async signal(id: string, name: string, value: unknown, { key, definitions }: SignalOptions): Promise<void> {
    checkName('name', name);
    const json = toJson(value ?? null, 'value of the signal');
    const event = eventId(`signal:${key === undefined ? this.#inbox.uuid() : checkName('key', key)}`);
    for (let before: WorkflowId | undefined; ; ) {
      const { row, state } = await this.#inbox.find(id);
      // This very signal may have ended the workflow.
      if (isClosed(state) && state.inbox.includes(event)) return;
      if (isClosed(state)) throw closed(row);
      if (definitions !== undefined) checkSignal(definitions, row, name, json);
      if (row.workflow === before) break;
      const known = definitions?.filter((each) => each.name === row.definition && each.version >= row.version);
      const guard = this.#inbox.guard(row, known);
      const stored = guard.content('signal', 'value', json);
      const sizeBytes = Buffer.byteLength(JSON.stringify(stored.value));
      const head = guard
        .names('signal', { name, ...(key !== undefined && { key }) })
        .as(() => ({ id: event, control: { name, sizeBytes } }));
      const payload = stored.as((sent) => ({ value: sent }));
      if (await this.#inbox.write(row, 'SignalReceived', head, payload, state)) return;
      // If a new run continues the workflow meanwhile, the signal goes to that run.
      before = row.workflow;
    }
    const message = `Workflow ${id} holds ${SIGNALS_MAX} signals that no task has received, or would hold more than ${SIGNALS_MAX_BYTES} bytes of them with this one, and accepts no more. Send it again when some were received.`;
    throw new LimitError('signals-full', message, { workflow: id });
  }

  /** See `Client.amendSignal` and `Client.discardSignal`. */
  async changeSignal(id: string, event: string, change: SignalChange): Promise<{ readonly changed: boolean }> {
    checkName('by', change.by);
    checkText('why', change.why);
    const { row, state } = await this.#inbox.find(id);
    const { by } = change;
    const json = 'value' in change ? toJson(change.value ?? null, 'value of the signal') : undefined;
    const digest = digestOf(this.#options.ports.digest, [json ?? null, by]);
    // The same change by the same person is one event.
    const changed = eventId(json === undefined ? `discard:${event}:${digest}` : `amend:${event}:${digest}`);
    if (state.inbox.includes(changed)) return { changed: false };
    const name = leftOf(state).find((one) => one.event === event)?.name;
    if (isClosed(state)) throw closed(row);
    if (name === undefined) throw signalRead(row, event);
    const signal = event as EventId;
    const { definitions = [] } = change;
    if (json !== undefined) checkSignal(definitions, row, name, json);
    const known = definitions.filter((each) => each.name === row.definition && each.version >= row.version);
    const guard = this.#inbox.guard(row, known);
    const why = guard.take('decision', 'why', change.why);
    if (json === undefined) {
      const head = guard.names('by', by).as(() => ({ id: changed, control: { signal, by } }));
      const said = guard.content('decision', 'discard', { why });
      if (await this.#inbox.write(row, 'SignalDiscarded', head, said)) return { changed: true };
    } else {
      const stored = guard.content('signal', 'value', json);
      const sizeBytes = Buffer.byteLength(JSON.stringify(stored.value));
      const control = { name, sizeBytes, replaces: signal, by };
      const head = guard.names('by', by).as(() => ({ id: changed, control }));
      const payload = stored.as((value) => ({ value, why }));
      if (await this.#inbox.write(row, 'SignalReceived', head, payload)) return { changed: true };
    }
    throw signalRead(row, event);
  }

  /** See `Client.pin`. */
  async pin(workflow: string, { pinned, by, why }: Pin): Promise<void> {
    checkName('by', by);
    checkText('why', why);
    const { row, state } = await this.#inbox.find(workflow);
    if (isClosed(state)) throw closed(row);
    if (state.pinned === pinned) return;
    const guard = this.#inbox.guard(row);
    const id = eventId(`pin:${this.#inbox.uuid()}`);
    const head = guard.names('by', by).as(() => ({ id, control: { pinned, by } }));
    if (await this.#inbox.write(row, 'VersionPinned', head, guard.content('decision', 'pin', { why }))) return;
    const now = await this.#inbox.find(workflow);
    if (now.row.workflow !== row.workflow) return this.pin(workflow, { pinned, by, why });
    throw closed(now.row);
  }

  /** See `Client.revoke`. */
  async revoke(id: string): Promise<Lease | null> {
    const { row, state } = await this.#inbox.find(id);
    if (isClosed(state)) throw closed(row);
    const { lease } = state;
    if (lease === null) return null;
    const { epoch, holder } = lease;
    const control = { epoch, holder, reason: 'asked' } as const;
    const head = ownContent('system', { id: eventId(`revoke:${epoch}:asked`), control });
    const isTaken = await this.#inbox.write(row, 'LeaseRevoked', head, ownContent('system', null));
    return isTaken ? lease : null;
  }

  /** Writes memories to the stream of their subject; `key` identifies the write. Throws `ConflictError` (`workflow-closed`). */
  async remember(workflow: WorkflowId, memories: Guarded<readonly MemoryWrite[]>, key?: string): Promise<void> {
    const { row } = await this.#inbox.find(workflow);
    const id = memoryEvent(key === undefined ? this.#inbox.uuid() : checkName('key', key));
    const control = { count: memories.value.length };
    const head = this.#inbox
      .guard(row)
      .names('key', key ?? '')
      .as(() => ({ id, control }));
    const payload = memories.as((writes) => ({ memories: writes }));
    if (await this.#inbox.write(row, 'MemoryWritten', head, payload)) return;
    throw closed((await this.#inbox.find(workflow)).row);
  }

  /** See `ClientMemory.raiseBudget`. A raise with the same `event` counts once, however often it is sent. */
  async raise(
    workflow: WorkflowId,
    control: Controls['BudgetRaised'],
    why: string,
    event = eventId(`raise:${this.#inbox.uuid()}`),
  ): Promise<void> {
    checkText('why', why);
    const { row, state } = await this.#inbox.find(workflow);
    if (isClosed(state)) throw closed(row);
    const guard = this.#inbox.guard(row);
    const head = guard.names('by', control.by).as(() => ({ id: event, control }));
    if (await this.#inbox.write(row, 'BudgetRaised', head, guard.content('decision', 'raise', { why }))) return;
    const now = await this.#inbox.find(workflow);
    if (now.row.workflow !== row.workflow) return this.raise(workflow, control, why, event);
    throw closed(now.row);
  }

  /** A receiver may confirm before the holder has recorded that the effect is pending. */
  async #findToken(id: string, token: string): Promise<{ readonly row: WorkflowSummary; readonly state: StreamState }> {
    await this.#inbox.pollFor(TOKEN_GRACE_MS, async () => {
      const { state } = await this.#inbox.find(id);
      return pendingEffect(state, token) !== undefined || isClosed(state) || undefined;
    });
    return this.#inbox.find(id);
  }
}

const answerIn = (events: readonly EventRow[], question: string): Controls['ApprovalDecided'] | undefined =>
  events
    .filter(({ type }) => type === 'ApprovalDecided')
    .map((row) => JSON.parse(row.control) as Controls['ApprovalDecided'])
    .findLast((answer) => answer.question === question);

const signalRead = ({ workflow }: WorkflowSummary, signal: string): ConflictError =>
  new ConflictError(
    'signal-read',
    `Workflow ${workflow} has no unread signal ${signal}: it never came, was replaced, a step has read it, or one may be reading it now. tidemark signals lists those that can be changed; pause a workflow that runs, and try again.`,
    { workflow, signal },
  );

const confirmationOf = ({ type, control }: EventRow): Controls['EffectConfirmed'] | undefined =>
  type === 'EffectConfirmed' ? (JSON.parse(control) as Controls['EffectConfirmed']) : undefined;

/**
 * Compares the response as it was given, and as each known schema parses it, because only a process with the definition parsed it before
 * storing.
 */
function isSameResponse(
  before: EventRow,
  confirmation: Confirmation,
  effects: readonly EffectDefinition[],
  guard: SecretGuard,
): boolean {
  const taken = decodePayload('EffectConfirmed', before.payload);
  if (!('response' in taken) || 'error' in confirmation) return false;
  const wanted = canonicalJson(taken.response);
  const given = toJson(confirmation.response, 'response');
  const isWanted = (response: Json): boolean =>
    canonicalJson(guard.answered('decision', 'confirmation', { response }).value.response) === wanted;
  if (isWanted(given)) return true;
  return effects.some(({ parseResponse }) => {
    try {
      return isWanted(parseResponse(given));
    } catch {
      return false;
    }
  });
}

function pendingEffect(state: StreamState, token: string): EffectState | undefined {
  for (const { effects } of state.frontier.tasks) {
    const effect = effects.find(({ pending }) => pending?.token === token);
    if (effect !== undefined) return effect;
  }
  return undefined;
}

/**
 * Owns a fast path through the headers of nearly all events: version 1, frequent types, no rare members. It takes 0.6 µs where the schemas
 * take 8, and a fold reads every record. It gives exactly what the schemas would, member for member and in their order, and leaves
 * everything else to them. Must not decide that a header is malformed.
 */

import { ENVELOPE_VERSION, type Envelope, TASKS_PER_CHECKPOINT_MAX, type TaskId, taskOrder } from '@tidemark/core';
import { DIGEST, NAME_MAX_CHARS, TASK } from './schema.ts';

/** The result of parsing: every member may be anything. */
type Parsed = Readonly<Record<string, unknown>>;

const isParsed = (value: unknown): value is Parsed =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean =>
  typeof value === 'string' && value.length > 0 && value.length <= NAME_MAX_CHARS;
const isWhole = (value: unknown, min: number): boolean => Number.isSafeInteger(value) && (value as number) >= min;
const isAmount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
const isDigest = (value: unknown): boolean => typeof value === 'string' && DIGEST.test(value);
const isTask = (value: unknown): boolean =>
  typeof value === 'string' && TASK.test(value) && taskOrder(value as TaskId)[1] < TASKS_PER_CHECKPOINT_MAX;
const isKind = (value: unknown): boolean => value === 'pure' || value === 'idempotent' || value === 'irreversible';
const isOutcome = (value: unknown): boolean => value === 'done' || value === 'failed';
const isFlag = (value: unknown): boolean => value === undefined || value === true;
const isAmountOrNone = (value: unknown): boolean => value === undefined || isAmount(value);

/** The fast path would drop a member that it doesn't know: a control with any later member goes to the schemas until it is added here. */
function holdsAll(made: Parsed, given: Parsed): boolean {
  for (const name in given) if (!(name in made)) return false;
  return true;
}

/** The header's envelope; undefined: use the schemas. */
export function plainEnvelope(header: unknown): Envelope | undefined {
  if (!isParsed(header) || header.v !== ENVELOPE_VERSION || header.payload !== 'json') return undefined;
  const { v, id, tenant, workflow, generation, lamport, epoch, holder, ordinal, atMs, type } = header;
  const hasNames = isText(id) && isText(tenant) && isText(workflow);
  const hasPlace = isWhole(generation, 1) && isWhole(lamport, 0) && isWhole(epoch, 0) && isWhole(ordinal, 0);
  if (!hasNames || !hasPlace || !isAmount(atMs)) return undefined;
  if (typeof holder !== 'string' || holder.length > NAME_MAX_CHARS) return undefined;
  const control = isParsed(header.control) ? controlOf(type, header.control) : undefined;
  if (control === undefined || !holdsAll(control, header.control as Parsed)) return undefined;
  const envelope = { v, id, tenant, workflow, generation, lamport, epoch, holder, ordinal, atMs, type, control };
  return envelope as unknown as Envelope;
}

function controlOf(type: unknown, control: Parsed): Parsed | undefined {
  switch (type) {
    case 'CheckpointCommitted':
      return checkpoint(control);
    case 'EffectIntended':
      return intended(control);
    case 'EffectResolved':
      return resolved(control);
    case 'WorkflowOpened':
      return opened(control);
    case 'LeaseClaimed':
      return {};
    case 'LeaseReleased':
      return isRelease(control.reason) ? { reason: control.reason } : undefined;
    case 'CheckpointReserved':
      return reserved(control);
    case 'TimerFired':
      return isText(control.timer) ? { timer: control.timer } : undefined;
    case 'PartitionFenced':
      return isWhole(control.partition, 0) ? { partition: control.partition } : undefined;
    case 'WorkflowCompleted':
      return isDigest(control.outputDigest) ? { outputDigest: control.outputDigest } : undefined;
    default:
      return undefined;
  }
}

const isRelease = (value: unknown): boolean => value === 'idle' || value === 'drain' || value === 'fault';

const reserved = ({ checkpoint, task }: Parsed): Parsed | undefined =>
  isText(checkpoint) && isTask(task) ? { checkpoint, task } : undefined;

function checkpoint(control: Parsed): Parsed | undefined {
  const { checkpoint, sequence, parent, task, step, stepVersion, inputDigest, belief, tokens, costMicros } = control;
  const { lastAction, supersedes, startedAtMs, hasContext } = control;
  const hasNames = isText(checkpoint) && (parent === null || isText(parent)) && isText(step);
  const hasPlace = isWhole(sequence, 1) && isTask(task) && (supersedes === null || isWhole(supersedes, 1));
  const hasInput = isWhole(stepVersion, 0) && isDigest(inputDigest);
  const hasOutcome = isBelief(belief) && isAmount(tokens) && isAmount(costMicros) && typeof lastAction === 'string';
  if (!hasNames || !hasPlace || !hasInput || !hasOutcome || !isFlag(hasContext)) return undefined;
  if (!isAmountOrNone(startedAtMs)) return undefined;
  const tasks = declarations(control.tasks);
  if (tasks === undefined) return undefined;
  return {
    ...{ checkpoint, sequence, parent, task, step, stepVersion, inputDigest, tasks, belief, tokens, costMicros },
    ...{ lastAction, supersedes },
    ...(startedAtMs !== undefined && { startedAtMs }),
    ...(hasContext === true && { hasContext }),
  };
}

const isBelief = (value: unknown): boolean => value === 'none' || value === 'delta' || value === 'snapshot';

/** Tasks that wait for nothing but other tasks. */
function declarations(value: unknown): readonly Parsed[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const tasks: Parsed[] = [];
  for (const declared of value) {
    if (!isParsed(declared)) return undefined;
    const { step, after, when } = declared;
    const isSound = isText(step) && (after === 'all' || (Array.isArray(after) && after.every(isTask)));
    if (!isSound || !Array.isArray(when) || when.length > 0) return undefined;
    const task = { step, after, when };
    if (!holdsAll(task, declared)) return undefined;
    tasks.push(task);
  }
  return tasks;
}

function intended(control: Parsed): Parsed | undefined {
  const { task, key, operation, kind, requestDigest, timeoutMs } = control;
  const { model, question, hasContext } = control;
  if (!isEffect(control) || !isAmount(timeoutMs) || !isFlag(hasContext)) return undefined;
  if (question !== undefined && !isDigest(question)) return undefined;
  const call = model === undefined ? undefined : modelCall(model);
  if (model !== undefined && call === undefined) return undefined;
  return {
    ...{ task, key, operation, kind, requestDigest, timeoutMs },
    ...(call !== undefined && { model: call }),
    ...(question !== undefined && { question }),
    ...(hasContext === true && { hasContext }),
  };
}

const isEffect = ({ task, key, operation, kind, requestDigest }: Parsed): boolean =>
  isTask(task) && isText(key) && isText(operation) && isKind(kind) && isDigest(requestDigest);

function modelCall(model: unknown): Parsed | undefined {
  if (!isParsed(model)) return undefined;
  const { bundle, reserved } = model;
  if ((bundle !== null && !isDigest(bundle)) || !isSpend(reserved)) return undefined;
  const call = { bundle, reserved: spendOf(reserved) };
  return holdsAll(call, model) ? call : undefined;
}

const isSpend = (value: unknown): value is Parsed =>
  isParsed(value) && isAmount(value.tokens) && isAmount(value.costMicros) && holdsAll(spendOf(value), value);
const spendOf = ({ tokens, costMicros }: Parsed): Parsed => ({ tokens, costMicros });

function resolved(control: Parsed): Parsed | undefined {
  const { task, key, operation, kind, outcome, requestDigest, responseDigest, spent } = control;
  const { startedAtMs, hasContext } = control;
  if (!isAmountOrNone(startedAtMs)) return undefined;
  if (!isEffect(control) || !isOutcome(outcome) || !isDigest(responseDigest) || !isFlag(hasContext)) return undefined;
  if (spent !== undefined && !isSpend(spent)) return undefined;
  return {
    ...{ task, key, operation, kind, outcome, requestDigest, responseDigest },
    ...(spent !== undefined && { spent: spendOf(spent) }),
    ...(startedAtMs !== undefined && { startedAtMs }),
    ...(hasContext === true && { hasContext }),
  };
}

/** For a first run without dispatch, trace and tags. */
function opened(control: Parsed): Parsed | undefined {
  const { definition, version, rules, partition, placement, inputDigest } = control;
  const { pinned, shadow, compensates, session, user, tags, hasContext } = control;
  if (compensates !== null || !isFlag(hasContext)) return undefined;
  const hasDefinition = isText(definition) && isWhole(version, 0) && isWhole(rules, 1) && isDigest(inputDigest);
  const hasPlace = isWhole(partition, 0) && (placement === 'exclusive' || placement === 'shared');
  const hasUse = typeof pinned === 'boolean' && typeof shadow === 'boolean';
  const hasOwner = [session, user].every((name) => name === undefined || isText(name));
  const hasTags = tags === undefined || (Array.isArray(tags) && tags.every(isText));
  if (!hasDefinition || !hasPlace || !hasUse || !hasOwner || !hasTags) return undefined;
  const tasks = declarations(control.tasks);
  if (tasks === undefined) return undefined;
  return {
    ...{ definition, version, rules, partition, placement, inputDigest, tasks, pinned, shadow, compensates },
    ...(session !== undefined && { session }),
    ...(user !== undefined && { user }),
    ...(tags !== undefined && { tags }),
    ...(hasContext === true && { hasContext }),
  };
}

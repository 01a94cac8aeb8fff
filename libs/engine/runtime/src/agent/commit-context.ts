/**
 * Owns what a step's result adds to its workflow's context (fragments, whose texts are stored once; working memory within its budget;
 * long-term memory), and the spend of its model calls. It does not write: the checkpoint does.
 */

import { type MemoryWrite, NAME_MAX_CHARS, type ScopeChange, type StoredFragment, toJson } from '@tidemark/codec';
import {
  ANSWER_BOUNDS,
  ConflictError,
  FRAGMENT_TYPES,
  InvalidError,
  type Json,
  type Lamport,
  NO_SPEND,
  parseJson,
  type Spend,
  type StreamState,
  type TaskId,
} from '@tidemark/core';
import type { ContextStore, MemoryStore } from '@tidemark/ports';
import {
  type Definition,
  type FragmentDraft,
  type MemoryUpdate,
  type StepResult,
  scopeChange,
} from '../definition/index.ts';
import { isRange, MEMORY_KINDS, type WorkflowContext } from '../history/index.ts';
import { ACCESS_SUBJECT, BUDGET_ENTRY, QUEUES_SUBJECT, RETENTION_SUBJECT, storableText } from '../kernel/index.ts';
import {
  FRAGMENT_PARTS_MAX_CHARS,
  FRAGMENTS_PER_CHECKPOINT_MAX,
  MEMORIES_PER_CHECKPOINT_MAX,
  MEMORY_KEY_MAX_CHARS,
} from './limits.ts';
import { spentByTask } from './model-budgets.ts';

/** The parts of a checkpoint besides output, belief and tasks. */
export interface CommitContext {
  readonly fragments: readonly StoredFragment[];
  readonly scope: ScopeChange | null;
  readonly memories: readonly MemoryWrite[];
  readonly spent: Spend;
}

export interface ContextDependencies {
  readonly definition: Definition;
  readonly context: WorkflowContext;
  readonly reads: Pick<ContextStore, 'fragments' | 'texts' | 'trace' | 'scopes'> & Pick<MemoryStore, 'lamportOf'>;
  /** Receives Lamport times of other writers' events: the checkpoint must come after them. */
  readonly witness: (lamport: Lamport) => void;
  /** The stream with own events that are not yet confirmed. */
  readonly state: () => StreamState;
  /** The phase in which the step began. */
  readonly phase: string | undefined;
}

/**
 * Throws `InvalidError` (`fragment-invalid`, `memory-invalid`, and those of working memory), which names the field and its place;
 * `LimitError` (`memory-over-budget`).
 */
export async function commitContext(
  step: string,
  task: TaskId,
  result: StepResult,
  dependencies: ContextDependencies,
): Promise<CommitContext> {
  const { context, reads, state, definition } = dependencies;
  const where = `${definition.name} v${definition.version}, step ${step}`;
  const drafts = [...checkedFragments(result.fragments ?? [], where), ...handOverNote(result, where)];
  const memories = (result.memories ?? []).map((update, at) => memoryWrite(update, `${where}, memories[${at}]`));
  if (memories.length > MEMORIES_PER_CHECKPOINT_MAX) {
    throw new InvalidError(
      'memory-invalid',
      `${where}: at most ${MEMORIES_PER_CHECKPOINT_MAX} memories fit in one step.`,
    );
  }
  for (const subject of new Set(memories.map((write) => write.subject))) {
    dependencies.witness(await reads.lamportOf(state().tenant, subject));
  }
  const fragments = drafts.length === 0 ? [] : await context.stored(reads, state().workflow, drafts);
  const scope = await changeOf(result, where, dependencies);
  return { fragments, scope, memories, spent: spentByTask(state(), task) };
}

/** Another task has handed over meanwhile: the step's working memory is out of scope now, so the step runs again in the new phase (I9). */
const phaseOver = (where: string, began: string | undefined, now: string): ConflictError =>
  new ConflictError(
    'phase-over',
    `${where}: it began in phase '${began}' and ended in phase '${now}', so its working memory does not count. It runs again.`,
    { began, now },
  );

/** The note for the next phase. */
function handOverNote({ handOver }: StepResult, where: string): readonly FragmentDraft[] {
  if (handOver === undefined) return [];
  const { summary: text, carry } = (handOver ?? {}) as Partial<typeof handOver>;
  if (typeof text !== 'string') {
    refuse(where, 'handOver.summary', text, "say what the next phase is to know: handOver: { to, summary: '…' }");
  }
  if (carry !== undefined && !Array.isArray(carry)) {
    refuse(where, 'handOver.carry', carry, "name keys of working memory in an array: carry: ['notes']");
  }
  return text.trim() === '' ? [] : [{ type: 'checkpoint_note', text }];
}

/** Must be computed again when another task has committed meanwhile. */
async function changeOf(
  { memory, handOver }: StepResult,
  where: string,
  { definition, context, reads, state, phase }: ContextDependencies,
): Promise<ScopeChange | null> {
  if (memory === undefined && handOver === undefined) return null;
  const { phases = new Map(), firstPhase, tokenizer } = definition.context ?? {};
  if (firstPhase === undefined || tokenizer === undefined) {
    throw new InvalidError(
      'phases-not-declared',
      `${where}: it returns ${memory === undefined ? 'handOver' : 'memory'}, and the definition has no phases. Declare them: phases: { work: { next: [] } }.`,
    );
  }
  const before = await context.scope(reads, state().workflow, state().head.sequence, firstPhase);
  if (before.phase !== phase) throw phaseOver(where, phase, before.phase);
  return scopeChange(before, { put: memory, handOver }, { phases, tokenizer, where });
}

/** Checks the shape of fragments that a step, or the opening, adds. */
export function checkedFragments(drafts: readonly FragmentDraft[], where: string): readonly FragmentDraft[] {
  if (!Array.isArray(drafts)) refuse(where, 'fragments', drafts, "return an array: fragments: [userMessage('…')]");
  if (drafts.length > FRAGMENTS_PER_CHECKPOINT_MAX) {
    refuse(where, 'fragments', drafts.length, `at most ${FRAGMENTS_PER_CHECKPOINT_MAX} fit in one step`);
  }
  return drafts.map((draft: FragmentDraft, at) => {
    const { type, text, call, tool, covers, parts } = (draft ?? {}) as FragmentDraft;
    if (!FRAGMENT_TYPES.includes(type)) {
      refuse(where, `fragments[${at}].type`, type, `use one of ${FRAGMENT_TYPES.join(', ')}`);
    }
    if (typeof text !== 'string') refuse(where, `fragments[${at}].text`, text, 'give a text');
    if (covers !== undefined && (type !== 'summary' || !isRange(covers))) {
      refuse(
        where,
        `fragments[${at}].covers`,
        covers,
        'only a summary has it: { from, to }, each { run, sequence, index }',
      );
    }
    if (parts !== undefined) checkParts(parts, drafts.length - at, `${where}: fragments[${at}].parts`);
    const isTool = type === 'tool_call' || type === 'tool_result';
    for (const [field, value] of [
      ['call', call],
      ['tool', tool],
    ] as const) {
      const fits = value === undefined ? !isTool || field === 'tool' : typeof value === 'string' && value.length > 0;
      if (!fits || (value?.length ?? 0) > NAME_MAX_CHARS) {
        refuse(where, `fragments[${at}].${field}`, value, `give a name of 1 to ${NAME_MAX_CHARS} characters`);
      }
    }
    return {
      type,
      text: storableText(text),
      ...(call !== undefined && { call: storableText(call) }),
      ...(tool !== undefined && { tool: storableText(tool) }),
      ...(covers !== undefined && { covers }),
      ...(parts !== undefined && { parts: { provider: parts.provider, spans: parts.spans, text: parts.text } }),
    };
  });
}

/** `left`: fragments from this one on. */
function checkParts({ provider, spans, text }: NonNullable<FragmentDraft['parts']>, left: number, what: string): void {
  const isWhose = provider === null || (typeof provider === 'string' && provider.length <= NAME_MAX_CHARS);
  const isShort = typeof text === 'string' && text.length <= FRAGMENT_PARTS_MAX_CHARS;
  const isFit = isWhose && Number.isSafeInteger(spans) && spans >= 1 && spans <= left && isShort;
  const found = isFit ? parseJson(text, what, ANSWER_BOUNDS) : undefined;
  if (Array.isArray(found) && found.every(isPart)) return;
  throw new InvalidError(
    'fragment-invalid',
    `${what}: take what said(reply) or userMessage([…]) returns, whole and in its order: { provider, spans, text }, with a JSON array of at most ${FRAGMENT_PARTS_MAX_CHARS} characters.`,
    { field: 'parts' },
  );
}

/** What assembly reads of a part: a wrong one would be in the history, and so end every later call. */
function isPart(given: Json): boolean {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const { type, chars, text, mediaType, data = '' } = given as { readonly [member: string]: Json };
  if (typeof type !== 'string') return false;
  if (type === 'text' && typeof text === 'string') return true;
  if (chars === undefined) return type !== 'text';
  const isFile = type !== 'file' || (typeof mediaType === 'string' && typeof data === 'string');
  return Number.isSafeInteger(chars) && Number(chars) >= 0 && isFile;
}

function refuse(where: string, field: string, value: unknown, remedy: string): never {
  const shown =
    typeof value === 'string' ? `'${value.slice(0, 60)}'` : typeof value === 'number' ? value : typeof value;
  throw new InvalidError('fragment-invalid', `${where}: ${field} is ${shown}: ${remedy}.`, { field });
}

/** Checks one change of long-term memory. Throws `InvalidError` (`memory-invalid`, `memory-reserved`). */
export function memoryWrite(update: MemoryUpdate, where: string): MemoryWrite {
  const { kind, key, subject } = update;
  if (subject.startsWith(RETENTION_SUBJECT)) {
    throw new InvalidError(
      'memory-reserved',
      `${where}: ${subject} is how long history is kept. Set it with setRetention.`,
    );
  }
  if (subject.startsWith(ACCESS_SUBJECT)) {
    throw new InvalidError(
      'memory-reserved',
      `${where}: ${subject} holds rights of access. Change it with tidemark access.`,
    );
  }
  if (subject === QUEUES_SUBJECT) {
    throw new InvalidError(
      'memory-reserved',
      `${where}: ${subject} lists the paused queues. Change it with tidemark queues.`,
    );
  }
  const isBudget = kind === BUDGET_ENTRY.kind && key === BUDGET_ENTRY.key && /^(tenant|user):/.test(subject);
  if (!isBudget) return anyWrite(update, where);
  throw new InvalidError(
    'memory-reserved',
    `${where}: the record '${key}' of ${subject} is its budget. Set it with setBudget.`,
  );
}

/** A fact needs a sentence. */
function factOf(value: unknown, words: string | undefined, wrong: (field: string, remedy: string) => never) {
  const text = typeof value === 'string' ? value : (value as { readonly text?: unknown } | null)?.text;
  if (typeof text !== 'string' || text.trim() === '') return wrong('value', 'a fact is a text, or { text }');
  return { value: { ...(typeof value === 'object' ? value : {}), text }, words: words ?? text };
}

/** The same for an entry that only the system writes. */
export function anyWrite(update: MemoryUpdate, where: string): MemoryWrite {
  const { subject, kind, key, value, words, source } = update;
  const wrong = (field: string, remedy: string): never => {
    throw new InvalidError('memory-invalid', `${where}.${field}: ${remedy}.`, { field });
  };
  for (const [field, name] of [
    ['subject', subject],
    ['key', key],
  ] as const) {
    if (typeof name !== 'string' || name === '' || name.length > MEMORY_KEY_MAX_CHARS || /\p{Cc}/u.test(name)) {
      wrong(field, `give 1 to ${MEMORY_KEY_MAX_CHARS} characters without control characters`);
    }
  }
  if (!MEMORY_KINDS.includes(kind)) wrong('kind', `use one of ${MEMORY_KINDS.join(', ')}`);
  for (const [field, text] of [
    ['words', words],
    ['source', source],
  ] as const) {
    if (text !== undefined && typeof text !== 'string') wrong(field, 'give a text, or leave it out');
  }
  const reported = kind === 'fact' && value !== undefined ? factOf(value, words, wrong) : { value, words };
  return {
    subject,
    kind,
    key,
    ...(reported.value !== undefined && { value: toJson(reported.value, `${where}.value`) }),
    ...(reported.words !== undefined && { words: reported.words }),
    ...(source !== undefined && { source }),
  };
}

/** Whether the result adds to the context. */
export const bringsContext = ({ fragments, memory, handOver, memories }: StepResult): boolean =>
  fragments !== undefined || memory !== undefined || handOver !== undefined || memories !== undefined;

export const NO_CONTEXT: CommitContext = {
  fragments: [],
  scope: null,
  memories: [],
  spent: NO_SPEND,
};

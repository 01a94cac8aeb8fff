/**
 * Owns turning older versions' belief and tasks into those of this definition: it checks what a user writes, and returns the form that the
 * runtime takes. Must not apply it, nor validate against schemas: the runtime does, once the chain ends.
 */

import { toJson } from '@tidemark/codec';
import { InvalidError, type Json } from '@tidemark/core';
import type { Upcaster } from '@tidemark/runtime';
import { kindOf } from './parse.ts';
import { type DefinitionProblem, unknownMembers } from './problem.ts';
import type { VersionUpcast } from './workflow-spec.ts';

type Upcasts = { readonly [from: number]: VersionUpcast };

/** `title`: `refund v2`, to begin messages with. */
export function upcasters(upcast: Upcasts | undefined, title: string): ReadonlyMap<number, Upcaster> {
  return new Map(
    Object.entries(upcast ?? {}).map(([from, one]) => [Number(from), upcaster(one, `${title}, upcast.${from}`)]),
  );
}

function upcaster(one: VersionUpcast, where: string): Upcaster {
  return {
    input: (input) => (one.input === undefined ? input : toJson(one.input(input), `${where}.input`)),
    belief: (belief) => (one.belief === undefined ? belief : toJson(one.belief(belief), `${where}.belief`)),
    task: (step, input) => {
      const change = Object.hasOwn(one.tasks ?? {}, step) ? one.tasks?.[step] : undefined;
      return change === undefined ? { step, input } : checkedTask(change(input), `${where}.tasks.${step}`);
    },
  };
}

function checkedTask(task: unknown, where: string): { readonly step: string; readonly input: Json } {
  const refuse = (problem: string): never => {
    throw new InvalidError('upcast-invalid', `${where}: ${problem}. Return task('name', input).`, { where });
  };
  if (typeof task !== 'object' || task === null || !('step' in task) || !('input' in task)) {
    return refuse(`it returned ${kindOf(task)}, not a task`);
  }
  if (typeof task.step !== 'string') return refuse(`its step is ${kindOf(task.step)}`);
  // The task's wait is in the log and stays as it is.
  if ('after' in task) return refuse('it returned a task with `after`, which an upcaster can not change');
  return { step: task.step, input: toJson(task.input, where) };
}

/** The mistakes in the upcasters of a definition of this version. */
export function upcastProblems(upcast: unknown, version: number): readonly DefinitionProblem[] {
  if (upcast === undefined) return [];
  if (!isRecord(upcast)) return [problem('upcast must be an object: upcast: { 1: { belief: (b) => … } }')];
  const problems = Object.entries(upcast).flatMap(([from, one]) => entryProblems(from, one, version));
  if (problems.length > 0) return problems;
  const oldest = Math.min(...Object.keys(upcast).map(Number));
  for (let from = oldest; from < version; from++) {
    if (!Object.hasOwn(upcast, from)) {
      const message = `upcast.${from} is missing: upcast.${oldest} leads to version ${oldest + 1}, and from there on to ${version} each version needs one; {} says that nothing changed`;
      return [problem(message)];
    }
  }
  return [];
}

function entryProblems(from: string, one: unknown, version: number): readonly DefinitionProblem[] {
  if (!/^[1-9]\d{0,15}$/.test(from) || Number(from) >= version) {
    return [problem(`upcast.${from} is for no older version: name versions from 1 to ${version - 1}`)];
  }
  if (!isRecord(one))
    return [problem(`upcast.${from} must be an object with input, belief and tasks, or some of them`)];
  const problems = [...unknownMembers(`upcast.${from}`, one, ['input', 'belief', 'tasks'])];
  for (const name of ['input', 'belief']) {
    if (one[name] === undefined || typeof one[name] === 'function') continue;
    problems.push(problem(`upcast.${from}.${name} must be a function`));
  }
  if (one.tasks !== undefined && !isRecord(one.tasks)) {
    return [...problems, problem(`upcast.${from}.tasks must be an object of functions, by the steps' old names`)];
  }
  for (const [step, change] of Object.entries(one.tasks ?? {})) {
    if (typeof change !== 'function') problems.push(problem(`upcast.${from}.tasks.${step} must be a function`));
  }
  return problems;
}

const problem = (message: string): DefinitionProblem => ({ code: 'upcast-invalid', message: `${message}.` });
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Owns which versions of a definition a process can run, and how values that older versions stored are converted. Pure.
 *
 * V1 A stream never goes back: only its own version or a newer one runs it, and only its own version runs a pinned one.
 * V2 A stored value passes the upcasters of its version and of all later ones, in order, and is then validated.
 * V3 A value that can't be converted goes to a person, with the place and the reason. The workflow does not fail for it.
 */

import { type Json, type StreamState, TidemarkError } from '@tidemark/core';
import type { Route } from '@tidemark/ports';
import {
  BEGIN_STEP,
  beginStep,
  type Definition,
  errorNote,
  ParkError,
  type StepDefinition,
  stepNamed,
  type Upcaster,
} from '../definition/index.ts';

/** The version of a stream, and whether it is pinned to it. */
export type StreamVersion = Pick<StreamState, 'version' | 'pinned'>;

/** Versions whose workflows the definition can run: its own, and older ones from which upcasters lead to it; newest first. */
export function runnableVersions({ version, upcasters }: Pick<Definition, 'version' | 'upcasters'>): readonly number[] {
  const versions = [version];
  for (let from = version - 1; upcasters.has(from); from--) versions.push(from);
  return versions;
}

/** V1. */
export function canRun(definition: Definition, { version, pinned }: StreamVersion): boolean {
  // Called several times a step, nearly always for a stream of the definition's own version.
  return version === definition.version || (!pinned && runnableVersions(definition).includes(version));
}

/** Routes of the jobs for everything that these definitions can run. */
export function routesOf(definitions: readonly Definition[]): readonly Route[] {
  return definitions.flatMap((each) => [
    { definition: each.name, version: each.version, pinned: true },
    ...runnableVersions(each).map((version) => ({ definition: each.name, version, pinned: false })),
  ]);
}

/** The newest of the definitions that can run the stream; undefined: none can. */
export function definitionFor(
  definitions: readonly Definition[],
  stream: StreamVersion & Pick<StreamState, 'definition'>,
): Definition | undefined {
  return definitions
    .filter((each) => each.name === stream.definition && canRun(each, stream))
    .sort((a, b) => b.version - a.version)[0];
}

/** Converts a belief that this version stored. Throws what upcasters and the schema throw. */
export function upcastBelief(definition: Definition, version: number, belief: Json): Json {
  if (version >= definition.version) return belief;
  let upcast: unknown = belief;
  for (const { belief: change } of chain(definition, version)) upcast = change(upcast as Json);
  return definition.parseBelief(upcast);
}

/** Converts the input of a workflow that was started with this version. Throws what upcasters and the schema throw. */
export function upcastInput(definition: Definition, version: number, input: Json): Json {
  if (version >= definition.version) return input;
  let upcast: unknown = input;
  for (const { input: change } of chain(definition, version)) {
    if (change !== undefined) upcast = change(upcast as Json);
  }
  return definition.parseInput(upcast);
}

export interface ResolvedTask {
  readonly step: StepDefinition;
  readonly input: Json;
}

/**
 * The step and input for a task that this version of the definition added. Throws `ParkError` (`step-gone`: there is no such step;
 * `task-not-upcast`: the step does not accept the converted input).
 */
export function resolveTask(definition: Definition, version: number, step: string, input: Json): ResolvedTask {
  if (step === BEGIN_STEP) return { step: beginStep(definition), input };
  let task: { readonly step: string; readonly input: unknown } = { step, input };
  if (version < definition.version) task = upcastTask(definition, version, step, input);
  const found = stepNamed(definition.steps, task.step);
  if (found === undefined) throw missingStep(definition, version, step, task.step);
  // The input was validated when this version stored it.
  if (version >= definition.version) return { step: found, input };
  return orPark(definition, version, `input of step ${step}`, 'task-not-upcast', () => ({
    step: found,
    input: found.parseInput(task.input),
  }));
}

function upcastTask(definition: Definition, version: number, step: string, input: Json) {
  return orPark(definition, version, `task of step ${step}`, 'task-not-upcast', () => {
    let task: { readonly step: string; readonly input: unknown } = { step, input };
    for (const upcaster of chain(definition, version)) task = upcaster.task(task.step, task.input as Json);
    return task;
  });
}

/** The result of `make`, or a `ParkError` that says what could not be converted and why. */
export function orPark<T>(definition: Definition, version: number, what: string, code: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const { name, version: now } = definition;
    const message = `The ${what}, stored by ${name} v${version}, does not become one of v${now}: ${errorNote(error).message} Add or correct upcast in ${name}, run it with v${version}, or pin it.`;
    const problems = error instanceof TidemarkError ? error.details.problems : undefined;
    throw new ParkError(code, message, null, {
      definition: name,
      from: version,
      to: now,
      ...(problems === undefined ? {} : { problems: problems as Json }),
    });
  }
}

function missingStep({ name, version: now }: Definition, version: number, step: string, became: string): ParkError {
  const what = step === became ? `step '${step}'` : `step '${became}', which upcast makes of '${step}'`;
  const raise = version < now ? 'Add' : 'Raise the version and add';
  const message = `A pending task, added by ${name} v${version}, needs ${what}, and v${now} has none of that name. ${raise} upcast.${version}.tasks.${step}, or run it with a version that has it.`;
  return new ParkError('step-gone', message, null, { definition: name, from: version, to: now, step: became });
}

/** The upcasters from this version to the definition's own, in order (V2). */
function chain(definition: Definition, version: number): readonly Upcaster[] {
  const links: Upcaster[] = [];
  for (let from = version; from < definition.version; from++) {
    const link = definition.upcasters.get(from);
    if (link === undefined) {
      throw new ParkError('upcast-missing', `${definition.name} v${definition.version} has no upcast.${from}.`, null, {
        definition: definition.name,
        from,
      });
    }
    links.push(link);
  }
  return links;
}

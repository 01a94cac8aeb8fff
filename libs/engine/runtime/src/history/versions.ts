/**
 * Owns which versions of a definition a process can run, and how what older versions stored becomes what this one takes. Pure.
 *
 * V1 A stream never goes back: only its own version or a newer one runs it, and a pinned one only its own.
 * V2 What a version stored is changed by the upcasters of that version and all after it, in order, and then validated.
 * V3 What can't be changed is a person's matter, with the place and the reason; the workflow doesn't fail for it.
 */

import { type Json, type StreamState, TidemarkError } from '@tidemark/core';
import type { Route } from '@tidemark/ports';
import { type Definition, errorNote, ParkError, type StepDefinition, type Upcaster } from '../definition/index.ts';

/** The version that a stream has reached, and whether it is kept to it. */
export type StreamVersion = Pick<StreamState, 'version' | 'pinned'>;

/** Versions whose workflows it can go on with: its own, and older ones from which upcasters lead here; newest first. */
export function runnableVersions({ version, upcasters }: Pick<Definition, 'version' | 'upcasters'>): readonly number[] {
  const versions = [version];
  for (let from = version - 1; upcasters.has(from); from--) versions.push(from);
  return versions;
}

/** V1. */
export function canRun(definition: Definition, { version, pinned }: StreamVersion): boolean {
  // Asked several times a step, nearly always of a stream of its own version.
  return version === definition.version || (!pinned && runnableVersions(definition).includes(version));
}

/** Where the jobs of all that these definitions can run go. */
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

/** The belief that this version of the definition stored, as it is now. Throws what upcasters and the schema throw. */
export function upcastBelief(definition: Definition, version: number, belief: Json): Json {
  if (version >= definition.version) return belief;
  let upcast: unknown = belief;
  for (const { belief: change } of chain(definition, version)) upcast = change(upcast as Json);
  return definition.parseBelief(upcast);
}

/** The input that a workflow was started with at this version, as it is now. Throws what upcasters and the schema throw. */
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
 * The step that does a task of this step and input, which this version of the definition added. Throws `ParkError` (`step-gone`:
 * no such step; `task-not-upcast`: its input doesn't become one that the step takes).
 */
export function resolveTask(definition: Definition, version: number, step: string, input: Json): ResolvedTask {
  let task: { readonly step: string; readonly input: unknown } = { step, input };
  if (version < definition.version) task = upcastTask(definition, version, step, input);
  const found = definition.steps.get(task.step);
  if (found === undefined) throw stepGone(definition, version, step, task.step);
  // What this version stored was validated when it was stored.
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

/** What `make` gives, or a `ParkError` that says what could not be changed and why. */
export function orPark<T>(definition: Definition, version: number, what: string, code: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const { name, version: now } = definition;
    const message = `The ${what}, stored by ${name} v${version}, does not become one of v${now}: ${errorNote(error).message} Add or mend upcast in ${name}, run it with v${version}, or pin it.`;
    const problems = error instanceof TidemarkError ? error.details.problems : undefined;
    throw new ParkError(code, message, null, {
      definition: name,
      from: version,
      to: now,
      ...(problems === undefined ? {} : { problems: problems as Json }),
    });
  }
}

function stepGone({ name, version: now }: Definition, version: number, step: string, became: string): ParkError {
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

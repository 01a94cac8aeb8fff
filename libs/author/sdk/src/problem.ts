/** Owns mistakes and warnings of a definition before it runs. All of them are reported at once. */

import { InvalidError, SYSTEM_PREFIX } from '@tidemark/core';
import { unstorable } from './storable.ts';

/** Characters of the name of a workflow, a step or an operation, at most. */
const NAME_MAX_CHARS = 128;

export interface DefinitionProblem {
  /** Stable, kebab-case: `step-unreached`, … */
  readonly code: string;
  readonly message: string;
}

/** Something that works, but whose consequence its author should know. */
export interface DefinitionWarning extends DefinitionProblem {
  /** The operation or step concerned. */
  readonly subject: string;
}

/** Throws one `InvalidError` that lists every problem, if there is any. */
export function refuseProblems(code: string, what: string, problems: readonly DefinitionProblem[]): void {
  if (problems.length === 0) return;
  const list = problems.map((problem) => `  - ${problem.message}`).join('\n');
  throw new InvalidError(code, `${what} can't be used:\n${list}`, { what, problems });
}

/** Names stand in keys, logs and commands, so they are plain; objects would move members of digits alone to the front. */
export function nameProblems(what: string, name: unknown): readonly DefinitionProblem[] {
  if (typeof name === 'string' && name.startsWith(SYSTEM_PREFIX)) {
    return [
      {
        code: 'name-reserved',
        message: `${what} ${JSON.stringify(name)}: names that begin with '${SYSTEM_PREFIX}' are the system's own.`,
      },
    ];
  }
  if (typeof name === 'string' && name.length <= NAME_MAX_CHARS && /^(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return [];
  const given = typeof name === 'string' ? JSON.stringify(name.slice(0, NAME_MAX_CHARS)) : `a ${typeof name}`;
  const message = `${what} ${given}: a name is 1..${NAME_MAX_CHARS} letters, digits, dots, dashes or underscores, a letter or digit first, and not digits alone.`;
  return [{ code: 'name-invalid', message }];
}

/** Whether it is a zod 4 schema, and one whose values can be stored. */
export function schemaProblems(what: string, schema: unknown): readonly DefinitionProblem[] {
  if (typeof schema !== 'object' || schema === null || !('_zod' in schema)) {
    return [{ code: 'schema-missing', message: `${what} must be a zod 4 schema.` }];
  }
  return unstorable(schema as Parameters<typeof unstorable>[0]).map(({ path, problem }) => ({
    code: 'schema-not-storable',
    message: `${what}${path === '' ? '' : ` at ${path}`}: ${problem}.`,
  }));
}

/** Members that nothing reads, for callers without types. */
export function unknownMembers(what: string, given: object, known: readonly string[]): readonly DefinitionProblem[] {
  return Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => ({
      code: 'option-unknown',
      message: `${what}: ${key} is not known here; known: ${known.join(', ')}.`,
    }));
}

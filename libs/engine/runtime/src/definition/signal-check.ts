/**
 * Owns the check of signals from callers: the workflow's definition must declare the signal, and the value must fit, as far as this process
 * knows the definition. Signals that the system sends itself are not checked here. Pure.
 */

import { InvalidError, type Json, SYSTEM_PREFIX } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import type { Definition, Parse, SignalForm } from './definition.ts';

type Signals = ReadonlyMap<string, SignalForm>;

const PROBLEMS_REPORTED_COUNT = 10;

/** Throws `InvalidError` (`signal-reserved`). */
export function checkSignalName(name: string): void {
  if (!name.startsWith(SYSTEM_PREFIX)) return;
  throw new InvalidError('signal-reserved', `name: signals that begin with '${SYSTEM_PREFIX}' are the system's own.`);
}

/**
 * Throws `InvalidError` (`signal-reserved`, `signal-unknown`, `signal-unfit`). A signal that a newer version declares passes, because the
 * workflow may be upgraded before it takes the signal.
 */
export function checkSignal(
  definitions: readonly Definition[],
  { definition, version }: Pick<WorkflowSummary, 'definition' | 'version'>,
  name: string,
  value: Json,
): void {
  checkSignalName(name);
  const known = definitions.filter((one) => one.name === definition && one.version >= version);
  const declared = known.map(({ signals }) => signals).filter((signals) => signals !== undefined);
  // The step checks signals that some known version leaves undeclared.
  if (declared.length === 0 || declared.length < known.length) return;
  const forms = declared.flatMap((signals) => signals.get(name) ?? []);
  const [first] = forms;
  if (first === undefined) throw unknownSignal(definition, declared);
  const misfits = forms.map(({ parse }) => misfitOf(parse, value));
  if (misfits.every((misfit) => misfit !== undefined)) throw unfit(name, first.parse, value, misfits[0]!);
}

function unknownSignal(definition: string, declared: readonly Signals[]): InvalidError {
  const names = [...new Set(declared.flatMap((signals) => [...signals.keys()]))].sort();
  const list = names.length === 0 ? 'it declares none' : `it declares ${names.join(', ')}`;
  return new InvalidError('signal-unknown', `name: ${definition} has no such signal; ${list}.`, { declared: names });
}

function misfitOf(parse: Parse, value: Json): InvalidError | undefined {
  try {
    parse(value);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidError) return error;
    throw error;
  }
}

function unfit(name: string, parse: Parse, value: Json, { message, details }: InvalidError): InvalidError {
  const { problems = [] } = details as {
    readonly problems?: readonly { readonly path: string; readonly problem: string }[];
  };
  const fields = problems.slice(0, PROBLEMS_REPORTED_COUNT).map(({ path, problem }) => ({
    field: path === '' || path.startsWith('[') ? `value${path}` : `value.${path}`,
    problem,
  }));
  const list = fields.length === 0 ? message : fields.map(({ field, problem }) => `${field}: ${problem}`).join('; ');
  const remedy = value === null && misfitOf(parse, {}) === undefined ? ' Without a value it is null: give {}.' : '';
  return new InvalidError('signal-unfit', `The value doesn't fit the signal '${name}': ${list}.${remedy}`, { fields });
}

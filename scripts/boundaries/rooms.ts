/**
 * Owns which room of the engine may import which, as data: a room imports only earlier rooms, and only through their entry points. The plan
 * of the rooms is in CONTRIBUTING.md. Must read no files.
 */
import path from 'node:path';
import { importsOf } from './imports.ts';
import type { SourceFile, Tree } from './tree.ts';
import type { Violation } from './violation.ts';

export const ENGINE = 'libs/engine/runtime';

/** In the order of dependence; what each owns. */
export const ROOMS = [
  ['kernel', 'loops, clocks, names, limits that several rooms share'],
  ['views', 'logs and rows that change what passes through them: blobs, words'],
  ['definition', 'what a workflow is, as the engine knows it'],
  ['lease', 'the leased stream: stage, append, fold, fence; what others append'],
  ['history', 'what a stream held: content, lineage, versions'],
  ['effects', 'the journal: intend, call, resolve, probe'],
  ['agent', 'model calls, bundles, budgets, memory'],
  ['run', 'one claimed workflow: attempts, commits, take-over'],
  ['projection', 'the log as rows'],
  ['encryption', 'data keys, sealed logs and rows, secret fields'],
  ['inbox', 'starts, signals, decisions: what callers write'],
  ['sagas', 'undo, children, continue-as-new'],
  ['control', 'what schedules and bulk jobs run; paused queues; preflight'],
  ['worker', 'jobs in, claims, drain'],
  ['coordinator', 'dispatch, leases of the dead, timers, demand'],
  ['archive', 'segments, retention, tiers'],
  ['rebuild', 'rows from the log again'],
  ['forks', 'a second history from a checkpoint'],
  ['shadow', 'agents that run elsewhere'],
  ['client', 'all that a caller does with workflows'],
] as const;

const order = new Map<string, number>(ROOMS.map(([name], at) => [name, at]));

/** The room of a file of the engine; undefined: it is an entry point of the package, or lies elsewhere. */
export function roomOf(file: string): string | undefined {
  const [room, ...rest] = file.startsWith(`${ENGINE}/src/`) ? file.slice(ENGINE.length + 5).split('/') : [];
  return rest.length > 0 ? room : undefined;
}

export const isRoomDoor = (file: string): boolean =>
  roomOf(file) !== undefined && path.posix.basename(file) === 'index.ts' && file.split('/').length === 6;

export function checkRooms(tree: Tree): Violation[] {
  return tree.files.filter(({ isTest }) => !isTest).flatMap(checkRoom);
}

function checkRoom(file: SourceFile): Violation[] {
  const own = roomOf(file.file);
  if (own === undefined) return [];
  const at = order.get(own);
  if (at === undefined) {
    const message = `${own} is no room of the engine: say in scripts/boundaries/rooms.ts what it owns`;
    return [{ rule: 'room', file: file.file, line: 1, message }];
  }
  return importsOf(file).flatMap(({ specifier, line }) => {
    const target = path.posix.join(path.posix.dirname(file.file), specifier);
    const other = specifier.startsWith('.') ? roomOf(target) : undefined;
    if (other === undefined || other === own) return [];
    const message = refusal(own, other, target);
    return message === undefined ? [] : [{ rule: 'room' as const, file: file.file, line, message }];
  });
}

function refusal(own: string, other: string, target: string): string | undefined {
  if ((order.get(other) ?? order.size) > order.get(own)!) return `${own} comes before ${other}, and may not import it`;
  return isRoomDoor(target) ? undefined : `import ${other} through its door, ${other}/index.ts`;
}

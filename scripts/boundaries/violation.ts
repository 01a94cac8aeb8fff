/** Owns the form of a violation. Must decide nothing. */

export type Rule =
  | 'core-globals'
  | 'core-imports'
  | 'cycle'
  | 'default-export'
  | 'direction'
  | 'door'
  | 'event-words'
  | 'file-size'
  | 'folder-size'
  | 'function-size'
  | 'inner-barrel'
  | 'ports-imports'
  | 'room'
  | 'star-export'
  | 'syntax'
  | 'testkit-in-product'
  | 'undeclared'
  | 'unknown-layer';

export interface Violation {
  readonly rule: Rule;
  /** From the project's root. */
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export function lineOf(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length;
}

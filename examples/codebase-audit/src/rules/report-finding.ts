// Owns what a rule hands on: where it looked and what it says. Evidence is the source itself; masking comes later, once for all.

import type { Node } from '../facts/ast.ts';
import type { Rule, Severity } from '../facts/facts.ts';

/** A finding before its position and its masked evidence are made. */
export type RawFinding = { rule: Rule; severity: Severity; node: Node; message: string };

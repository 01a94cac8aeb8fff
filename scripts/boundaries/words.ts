/**
 * Owns which words code may not use where the field has a name, in identifiers and in texts for people. Each line gives the word to use
 * instead. English words in comments are free, and so are names on the wire. Must read no files.
 */
import type { Node } from 'oxc-parser';
import { childrenOf } from './nodes.ts';
import type { SourceFile } from './tree.ts';
import { lineOf, type Violation } from './violation.ts';

const IDENTIFIERS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/^tell([A-Z]|$)|^[Tt]old([A-Z]|$)|[a-z]Told$/, 'report, notify or receive'],
  [/^look(RestMs)?$/, 'poll'],
  [/^Desk$|^desk$|Desk$/, 'the table of operations, and its backend'],
  [/Surroundings$|^around$/, '…Dependencies'],
  [/^sight$|^Sight$/, 'redaction'],
  [/^HeldStream$/, 'LeasedStream'],
  [/^Held(Set|Queues?)$/, 'paused queues'],
  [/^askedBy$/, 'parkedQuestion'],
  [/^turnedStore$|^Turning$|^PreparedLog$/, 'ContentTransform, TransformingLog'],
  [/^goesOn$|^goneOn$|^whoGoesOn$/, 'continueAsNew, resumed, nextActor'],
  [/^(Undone|Left)Thing$/, 'CompensationItem, UncompensatedItem'],
  [/^Recalls$/, 'cold reads'],
  [/^isWordy$|^mayOwe$|^Duties$|^heedStops$/, 'packsWell, hasChildWork, Reconcilers, rethrowFatal'],
  [/[Nn]ewcomers?([A-Z]|$)|STRANGERS?_/, 'fair-share reserve, unauthenticated'],
  [/TicketOffice/, 'WakeupSender'],
  [/^lookAt[A-Z]|^isLooking$|LOOKED_|^[Ll]ooksFor$/, 'read or poll'],
  [/Surrounding$|^surrounding([A-Z]|$)/, 'section'],
  [/^HeldLease$|^heldPlace$|^heldOr$/, 'ReportedLease, the place of the holder'],
  [/^[Oo]we$|^Owed$|[a-z]Owed$/, 'pending, messages'],
  [/^placeAnew$|[a-z]Afresh$|^afresh$/, 'restart, clearFailures'],
  [/^wordy/, 'packable'],
  [/^goneIf$/, 'failIfHolderGone'],
  [/^UNDONE$|^Undoing$|^notUndone$|^whyUndone$/, 'compensated, compensation'],
];
const TEXTS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bmade anew\b/, 'rebuilt'],
  [/(?<![\w:~_'-])(is|was|being|are|were) undone\b/, 'compensated'],
  [/\bheld queues?\b/i, 'paused queue'],
  [/\b(queue is|queue were not|all are) held\b/i, 'paused'],
];

/** Checks a file that ships. */
export function checkWords(file: SourceFile): Violation[] {
  if (file.isTest || !/^(libs|services)\//.test(file.file)) return [];
  const violations: Violation[] = [];
  const refuse = (node: Node, word: string, instead: string): void => {
    const message = `${word}: the field's word is ${instead}`;
    violations.push({ rule: 'word', file: file.file, line: lineOf(file.source, node.start), message });
  };
  const visit = (node: Node): void => {
    if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') {
      const found = IDENTIFIERS.find(([pattern]) => pattern.test(node.name));
      if (found !== undefined) refuse(node, node.name, found[1]);
    } else if (node.type === 'Literal' || node.type === 'TemplateElement') {
      const text = file.source.slice(node.start, node.end);
      for (const [pattern, instead] of TEXTS) {
        const [word] = pattern.exec(text) ?? [];
        if (word !== undefined) refuse(node, word, instead);
      }
    }
    for (const [, child] of childrenOf(node)) visit(child);
  };
  visit(file.parsed.program);
  return violations;
}

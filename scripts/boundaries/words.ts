/**
 * Owns which words code may not use where the field has a name, in identifiers and in texts for people. Each line gives the word to use
 * instead. English words in comments are free, and so are names on the wire. Must read no files.
 */
import type { Node } from 'oxc-parser';
import { childrenOf } from './nodes.ts';
import type { SourceFile } from './tree.ts';
import { lineOf, type Violation } from './violation.ts';

const IDENTIFIERS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/^[Tt]ell([A-Z]|$)|^[Tt]old([A-Z]|$)|[a-z]Told$/, 'report, notify or receive'],
  [/^(tryTo|on)?[Ll]ook(RestMs)?$|^look(ed|ing)(Ms)?$/, 'poll'],
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
  [/^UNDONE$|^[Uu]ndoing$|^UNDOING$|^notUndone$|^whyUndone$/, 'compensated, compensation'],
  [/^[Uu]ndone[A-Z]|[a-z]Undone$|^Undone$/, 'compensated'],
  [/^[Dd]ut(y|ies)([A-Z]|$)|Dut(y|ies)|DUT(Y|IES)_/, 'reconcilers, pending work'],
  [/^[Ll](end|ent)([A-Z]|$)/, 'open, share'],
  [/^heed([A-Z]|$)/, 'onChanged, check'],
  [/^stands([A-Z]|$)|^stood$|^STOOD_|^isStanding$|^Standing[A-Z]/, 'state, connected, active'],
  [/^left(By|Behind|Words)$|^removeLeftBehind$/, 'abandoned, the record of'],
  [/[a-z]Anew$|TakenAway$|^away[A-Z]|^goesInto/, 'again, removed, unavailable, stored as'],
  [
    /^isAskedFor$|^(content|redaction|Effect|check)Asked(Schema)?$|^askNow$|^askedLines$|_ASKED_AGAIN_/,
    'request, assignee, filter',
  ],
];
const TEXTS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\banew\b/, 'again, rebuilt'],
  [/\b(goes|going|went|gone) on\b|\bgo on (from|with|as|by)\b|\bgo on[.)]/i, 'continue, resume, run'],
  [/\bwhoever\b/i, 'anyone who, the caller'],
  [/\b(is|are|was|were) told\b|\btold as\b/, 'receive, report, show'],
  [/\b(it|that|which|key|answer|probe) tells\b|\btells (of|what|how|when|from|whether)\b/, 'show, report, determine'],
  [/\bmend(s|ed)?\b/i, 'fix, correct'],
  [/\bin the hands of\b|\bin hand\b/, 'held by, in progress'],
  [
    /\bThat stands\b|\bput away\b|\btaken? away\b|\btakes away\b|\bfor who (may|is)\b/,
    'counts, archive, remove, for callers who',
  ],
  [/(?<![\w:~_'-])(is|was|being|are|were) undone\b/, 'compensated'],
  [/\bheld queues?\b/i, 'paused queue'],
  [/\b(queue is|queue were not|all are) held\b/i, 'paused'],
];

/** Their prompts are parts of recorded requests. An open call with other words would count as another request. */
const PROMPTS = ['libs/model/core/src/context/summary.ts', 'libs/engine/memory/src/model-summary.ts'];

/** Checks a file that ships, and examples. */
export function checkWords(file: SourceFile): Violation[] {
  if (file.isTest || !/^(libs|services|examples)\//.test(file.file)) return [];
  const isExempt = PROMPTS.includes(file.file) || file.file.startsWith('libs/testkit/');
  const violations: Violation[] = [];
  const refuse = (node: Node, word: string, instead: string): void => {
    const message = `${word}: the field's word is ${instead}`;
    violations.push({ rule: 'word', file: file.file, line: lineOf(file.source, node.start), message });
  };
  const visit = (node: Node): void => {
    if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') {
      const found = IDENTIFIERS.find(([pattern]) => pattern.test(node.name));
      if (found !== undefined) refuse(node, node.name, found[1]);
    } else if (isText(node) && !isExempt) {
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

const isText = ({ type }: Node): boolean => type === 'Literal' || type === 'TemplateElement' || type === 'JSXText';

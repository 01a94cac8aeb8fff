/** Owns how changes are printed for people: a line each, and below a question the commands that answer it. Pure. */

import type { Tone } from '@tidemark/core/timeline';
import type { Colour, Painter } from '../terminal.ts';
import { type At, approvalCommands } from '../text/shell.ts';
import { clockTime } from '../text/units.ts';
import { padEnd, printable, widthOf } from '../text/width.ts';
import type { Change, ChangeDescription } from './change.ts';

/** Widest column, in columns of the terminal, for the names of workflows. */
const NAME_COLUMNS_MAX = 40;

const COLOURS: Readonly<Partial<Record<Tone, Colour>>> = { good: 'green', warn: 'yellow', bad: 'red', quiet: 'dim' };

/** A sentence, without a full stop. */
export function descriptionLine(description: ChangeDescription, paint: Painter = (_, text) => text): string {
  const { title, detail = '', about = '', words = '', tone = 'plain', figures = [] } = description;
  const colour = COLOURS[tone];
  const head = printable(title.charAt(0).toLowerCase() + title.slice(1));
  const rest = [detail, about].flatMap((part) => (part === '' ? [] : [` ${printable(part)}`]));
  const end = words === '' ? '' : `: ${printable(words)}`;
  const last = figures.length === 0 ? '' : `  ${paint('dim', figures.join(', '))}`;
  return `${colour === undefined ? head : paint(colour, head)}${rest.join('')}${end}${last}`;
}

/** Writes lines that stay aligned as names of different lengths come. */
export class Narrator {
  readonly #paint: Painter;
  readonly #showsWorkflow: boolean;
  readonly #at: At;
  #nameWidth = 0;

  constructor(paint: Painter, options: { readonly showsWorkflow: boolean; readonly at: At }) {
    this.#paint = paint;
    this.#showsWorkflow = options.showsWorkflow;
    this.#at = options.at;
  }

  line({ at, workflow, description, facts }: Change): string {
    const time = this.#paint('dim', clockTime(Date.parse(at)));
    const asked = workflow === undefined ? [] : ((facts.approvals ?? []) as readonly string[]);
    const commands = asked.flatMap((task) => approvalCommands(workflow!, task, this.#at));
    const answers = commands.map((command) => `\n    ${this.#paint('cyan', printable(command))}`).join('');
    const words = descriptionLine(description, this.#paint) + answers;
    if (!this.#showsWorkflow || workflow === undefined) return `${time}  ${words}`;
    const name = printable(workflow);
    this.#nameWidth = Math.min(Math.max(this.#nameWidth, widthOf(name)), NAME_COLUMNS_MAX);
    return `${time}  ${this.#paint('bold', padEnd(name, this.#nameWidth))}  ${words}`;
  }
}

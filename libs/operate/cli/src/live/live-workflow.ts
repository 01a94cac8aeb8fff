/** Owns the live view of one workflow on a terminal: its state above, what happens below, the newest last. */

import type { WorkflowView } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import type { Change, Crowd } from '../follow/change.ts';
import type { Delta } from '../follow/spoken.ts';
import { Narrator } from '../follow/words.ts';
import { FLEET_POLL_MS, LIVE_LINES_MAX_COUNT, LIVE_SAID_MAX_CHARS } from '../limits.ts';
import type { Session } from '../session.ts';
import type { Painter, Stream } from '../terminal.ts';
import { progressBar } from '../text/progress.ts';
import { ago, cost, counted } from '../text/units.ts';
import { cut, printable } from '../text/width.ts';
import { ACTIVITY_COLOURS } from '../views/activity.ts';
import { standsWords, stepNames, taskWords } from '../views/frontier.ts';
import { Screen } from './screen.ts';

/** Rows of the frontier, at most. */
const TASKS_COUNT = 8;

export class LiveWorkflow {
  readonly #screen: Screen;
  readonly #paint: Painter;
  readonly #narrator: Narrator;
  readonly #lines: string[] = [];
  #view: WorkflowView | undefined;
  /** A model's current words, or a step's progress. */
  #said = '';
  #isText = false;
  #isClosed = false;

  constructor({ terminal, stdin }: Session, canvas: Stream) {
    this.#screen = new Screen(canvas, stdin);
    this.#paint = terminal.paint;
    this.#narrator = new Narrator(terminal.paint, { showsWorkflow: false });
    this.#screen.take();
    void this.#redraw();
  }

  /** Aborts when the user leaves. */
  get left(): AbortSignal {
    return this.#screen.left;
  }

  /** Set when the user has left. */
  get code(): number {
    return this.left.reason === 'quit' ? EXIT.ok : EXIT.interrupted;
  }

  show(view: WorkflowView): void {
    this.#view = view;
    this.#draw();
  }

  report(change: Change | Crowd, view: WorkflowView): void {
    this.#said = '';
    this.#lines.push(this.#narrator.line(change));
    if (this.#lines.length > LIVE_LINES_MAX_COUNT) this.#lines.shift();
    this.show(view);
  }

  readonly hear = ({ kind, step = '', done = 0, total = 0, text = '' }: Delta): void => {
    if (kind !== 'text' && kind !== 'progress') return;
    if (kind === 'progress') this.#said = progressBar({ step, done, total, text });
    else this.#said = `${this.#isText ? this.#said : ''}${text}`.slice(-LIVE_SAID_MAX_CHARS);
    this.#isText = kind === 'text';
    this.#draw();
  };

  /** Restores the screen; harmless when repeated. */
  close(): void {
    this.#isClosed = true;
    this.#screen.giveBack();
  }

  /** Redraws: times advance, and the size may change. */
  async #redraw(): Promise<void> {
    while (!this.left.aborted && !this.#isClosed) {
      await this.#screen.pause(FLEET_POLL_MS);
      this.#draw();
    }
  }

  #draw(): void {
    if (this.#view === undefined) return;
    const { columns: width, rows } = this.#screen;
    const above = [...headLines(this.#view, this.#paint), ''].map((line) => cut(line, width));
    const said = this.#said === '' ? [] : this.#said.trimEnd().split('\n').slice(-3);
    const below = said.map((line) => this.#paint('dim', cut(`… ${printable(line)}`, width)));
    const room = Math.max(rows - above.length - below.length - 1, 0);
    const lines = room === 0 ? [] : this.#lines.slice(-room).map((line) => cut(line, width));
    this.#screen.draw([...above, ...lines, ...below, this.#paint('dim', cut('q leaves', width))]);
  }
}

function headLines(view: WorkflowView, paint: Painter): readonly string[] {
  const { workflow, definition, activity, frontier, status, tokens } = view;
  const nowMs = Date.now();
  const spent = [
    counted(view.sequence_number, 'checkpoint'),
    ...(tokens > 0 ? [counted(tokens, 'token')] : []),
    ...(view.cost_micros > 0 ? [cost(view.cost_micros)] : []),
  ].join(', ');
  const steps = stepNames(frontier);
  const tasks = frontier.slice(0, TASKS_COUNT).map((task) => {
    const words = standsWords(status) ?? taskWords(task, steps, nowMs, activity === 'running');
    return `  ${task.task}  ${printable(task.step)}  ${paint(task.state === 'ready' ? 'cyan' : 'yellow', printable(words))}`;
  });
  const left = view.pending_task_count - tasks.length;
  const reason = view.reason === null ? '' : ` (${printable(view.reason)})`;
  return [
    `${paint('bold', printable(workflow))}  ${printable(definition)} v${view.definition_version}  ${paint(ACTIVITY_COLOURS[activity], activity)}${reason}`,
    paint('dim', `opened ${ago(Date.parse(view.opened_at), nowMs)}; ${spent}`),
    ...tasks,
    ...(left > 0 ? [`  … ${counted(left, 'more task')}`] : []),
  ];
}

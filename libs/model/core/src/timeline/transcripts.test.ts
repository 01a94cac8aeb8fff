/**
 * Owns the golden transcripts in testdata/timelines: short histories, and beneath each event what people and programs get of it. After a
 * change, `UPDATE_TRANSCRIPTS=1 npx vitest run libs/model/core` rewrites them; review the difference like prose.
 *
 * What follows ` | ` in a line of an event is its message or reason. `>` is what begins, `=` what became of an effect or a lease, `{` what programs get.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { DEFAULT_CONTROLS } from '@tidemark/testkit/naive/events';
import { answerLines, entryOfLine } from '@tidemark/testkit/naive/transcript';
import { expect, test } from 'vitest';
import { foldEntry } from '../fold.ts';
import { offset, partition } from '../ids.ts';
import { emptyPartition } from '../state.ts';
import { isoTime } from '../time.ts';
import { describeEvent, type EffectEntry, type Entry, type Moment, Timeline } from './timeline.ts';

const folder = new URL('../testdata/timelines/', import.meta.url);
const update = process.env.UPDATE_TRANSCRIPTS === '1';
const names = readdirSync(folder);

const worker = ({ holders }: Timeline, { lane }: Entry): string => (lane < 0 ? '' : ` [${holders[lane]}]`);

function lineOf(timeline: Timeline, entry: Entry): string {
  if (entry.kind === 'effect') {
    const { key, attempt, status, isModel } = entry;
    return `  > ${isModel ? 'model call' : 'effect'} ${key} ${status}, attempt ${attempt}${worker(timeline, entry)}`;
  }
  if (entry.kind === 'checkpoint') {
    const { sequence, step, task, sinceMs, spent: cost, lastAction } = entry;
    const spent = `${cost.tokens} tokens, ${cost.costMicros} micros`;
    return `  > #${sequence} ${step} (task ${task}) after ${sinceMs} ms, ${spent}: ${lastAction}${worker(timeline, entry)}`;
  }
  const { title, detail, about, words, tone, kind, facts } = entry.description;
  const sentence = [title, detail, about].filter((part) => part).join(' ');
  const line = `  > ${tone}: ${sentence}${words === '' ? '' : `: ${words}`}${worker(timeline, entry)}`;
  return facts === undefined ? line : `${line}\n  ${kind} ${JSON.stringify(facts)}`;
}

/** The transcript with what the fold makes of it now. */
function answered(transcript: string): string {
  let state = emptyPartition(partition(0), offset(0));
  let eventCount = 0;
  const timelines = new Map<string, { readonly timeline: Timeline; readonly effects: EffectEntry[] }>();
  const lines = transcript.split('\n').flatMap((line) => {
    if (line.startsWith(' ')) return [];
    if (line === '' || line.startsWith('#')) return [line];
    const [event = '', words] = line.split(' | ');
    const entry = entryOfLine(event, ++eventCount);
    const { verdict, ...folded } = foldEntry(state, entry);
    state = folded.state;
    if (entry.kind !== 'event' || verdict.kind !== 'accepted') return [line, ...answerLines(verdict, undefined)];
    const { workflow, atMs, holder, type, epoch } = entry.envelope;
    const control = entry.envelope.control as Moment['control'];
    const found = timelines.get(workflow) ?? { timeline: new Timeline(), effects: [] };
    timelines.set(workflow, found);
    const { timeline, effects } = found;
    const before = effects.map(({ status }) => status);
    const held = timeline.live;
    const { position } = verdict;
    const payload = words === undefined ? undefined : { error: { message: words } };
    const begun = timeline.take({
      position,
      type,
      at: isoTime(atMs),
      epoch,
      holder: holder || null,
      control,
      payload,
    })!;
    const changed = effects.filter(({ status }, at) => status !== before[at]);
    effects.push(...begun.filter((one) => one.kind === 'effect'));
    const became = changed.map(({ key, attempt, status }) => `  = ${key}, attempt ${attempt}: ${status}`);
    if (held !== undefined && held !== timeline.live) {
      became.push(`  = ${timeline.holders[held.lane]}'s lease ${held.epoch} ${held.end}: ${held.reason}`);
    }
    return [line, ...became, ...begun.map((one) => lineOf(timeline, one))];
  });
  return lines.join('\n');
}

test.each(names)('%s', (name) => {
  const file = new URL(name, folder);
  const recorded = readFileSync(file, 'utf8');
  const now = answered(recorded);
  if (update) writeFileSync(file, now);
  else expect(now).toBe(recorded);
});

test('every event that says something is in a transcript, or here', () => {
  const all = names.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
  const isShown = (type: string): boolean => new RegExp(`^${type} .*\\n(?:  =.*\\n)*  >`, 'm').test(all);
  const missing = Object.entries(DEFAULT_CONTROLS)
    .map(([type, control]) => ({ type, what: describeEvent({ type, control: control as never }) }))
    .filter(({ type, what }) => what !== undefined && !isShown(type));
  expect(missing).toMatchObject([
    { type: 'RecordJudged', what: { title: 'Unreadable record', detail: 'at offset 0 skipped by ann' } },
    { type: 'RulesRaised', what: { title: 'Event rules version 1', detail: 'from here on' } },
  ]);
});

test('a type of event that this release does not know says its name', () => {
  const moment = { position: 1, type: 'SomethingNew', at: isoTime(0), epoch: 0, holder: null, control: {} };
  const timeline = new Timeline();
  expect(timeline.take(moment)).toMatchObject([{ description: { title: 'Something New', kind: 'unknown' } }]);
  expect(timeline.take(moment)).toBeUndefined(); // T1
});

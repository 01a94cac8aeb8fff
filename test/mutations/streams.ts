/** Owns the mutations of what models say while it comes: its pieces, their readers, and what is kept of them. */

import type { Mutations } from './mutation.ts';

const PIECES = 'libs/operate/api/src/events/pieces.ts';
const READERS = 'libs/operate/api/src/events/answer-readers.ts';
const READERS_TEST = 'libs/operate/api/src/events/answer-readers.test.ts';
const CHUNK = 'libs/engine/runtime/src/definition/model-chunk.ts';
const CHUNK_TEST = 'libs/engine/runtime/src/definition/model-chunk.test.ts';

export const STREAMS_MUTATIONS: Mutations = {
  'old-lease-speaks': {
    file: PIECES,
    edits: [
      ['if (!isAfter(delta, this.#last) || delta.epoch < (this.feed?.epoch ?? 0)) return;', ''],
      ['epoch >= feed.epoch && ', ''],
    ],
    caughtBy: READERS_TEST,
    breaks: 'What a holder says that has lost its lease never shows after the reset of the next one.',
  },
  'answered-call-speaks': {
    file: PIECES,
    edits: [['(attempt > feed.position || feed.openCalls.has(call))', 'attempt > 0']],
    caughtBy: READERS_TEST,
    breaks: 'Nothing comes of a call after its recorded answer, to nobody.',
  },
  'gap-is-bridged': {
    file: PIECES,
    edits: [["kind !== 'reset' && isSame && index !== next.index", 'kind === undefined']],
    caughtBy: READERS_TEST,
    breaks: 'A call that lacks a piece says nothing more until its next attempt: no word is missing in the middle.',
  },
  'readers-subscribe-each': {
    file: PIECES,
    edits: [['this.#followed.get(workflow) ?? this.#follow(workflow)', 'this.#follow(workflow)']],
    caughtBy: READERS_TEST,
    breaks: 'A thousand readers of one stream share one subscription.',
  },
  'bytes-for-each-reader': {
    file: READERS,
    edits: [['    this.sink.write(bytes);\n', '    this.sink.write(Buffer.from(bytes));\n']],
    caughtBy: READERS_TEST,
    breaks: 'A piece is in memory once, however many read it.',
  },
  'full-connection-is-filled': {
    file: READERS,
    edits: [['if (sink.isFull) {', 'if (sink.closed.aborted) {']],
    caughtBy: READERS_TEST,
    breaks: 'A reader that does not read holds little memory.',
  },
  'slow-reader-skips-words': {
    file: READERS,
    edits: [['if (this.isShowing && this.place.epoch', 'if (this.place.number < 0 && this.place.epoch']],
    caughtBy: READERS_TEST,
    breaks: 'A reader whose next pieces are gone is cut off, and told from where to resume.',
  },
  'call-begins-in-its-middle': {
    file: READERS,
    edits: [['    else if (shown !== attempt) return;\n', '']],
    caughtBy: READERS_TEST,
    breaks: 'A reader without the beginning of a call gets its answer alone.',
  },
  'lost-attempt-stays-shown': {
    file: READERS,
    edits: [["if (this.#current?.hasParts === true) this.#send({ type: 'reset-step' });", '']],
    caughtBy: READERS_TEST,
    breaks: 'A UI message takes back what a lost attempt has shown.',
  },
  'shown-stands-above-recorded': {
    file: READERS,
    edits: [['text.startsWith(said.slice(0, current.chars)) ? current', 'text !== said.slice(0, 0) ? current']],
    caughtBy: 'test/api/stream.test.ts',
    test: 'takes what is missing from the record',
    breaks: 'What is recorded stands above what was shown.',
  },
  'calls-side-by-side-mix': {
    file: READERS,
    edits: [['if (this.#current !== undefined && this.#current.call !== call) return;', '']],
    caughtBy: 'test/api/stream.test.ts',
    test: 'one after the other',
    breaks: 'A UI message shows calls that run side by side one after the other.',
  },
  'interrupted-as-if-whole': {
    file: 'libs/operate/api/src/events/sink.ts',
    edits: [['if (this.#form === undefined) this.end();', 'if (this.#form !== null) this.end();']],
    caughtBy: 'libs/operate/api/src/events/streams.test.ts',
    breaks: 'A UI message that a server breaks off does not end as if it were whole.',
  },
  'ended-call-speaks': {
    file: CHUNK,
    edits: [
      ['if (!over.signal.aborted) gathered.add(delta);', 'gathered.add(delta);'],
      ['pending === undefined || this.#over.aborted', 'pending === undefined'],
    ],
    caughtBy: CHUNK_TEST,
    breaks: 'A call that was given up says nothing more.',
  },
  'last-words-stay-unsaid': {
    file: CHUNK,
    edits: [['        gathered.flush();\n', '']],
    caughtBy: CHUNK_TEST,
    breaks: 'All that a call has said is sent when it ends.',
  },
  'kept-of-open-calls-goes': {
    file: CHUNK,
    edits: [['this.#openCount++ === 0', 'this.#openCount++ >= 0']],
    caughtBy: CHUNK_TEST,
    breaks: 'What is kept of an open call stays when another begins beside it.',
  },
  'kept-for-ever': {
    file: 'libs/adapters/queue-memory/src/memory-watch.ts',
    edits: [['this.#nowMs() - atMs > WATCH_KEPT_MS', 'this.#nowMs() < atMs']],
    caughtBy: 'libs/adapters/queue-memory/src/memory-watch.test.ts',
    breaks: 'What is kept for readers ends by itself.',
  },
  'lost-lease-keeps-on': {
    file: 'libs/adapters/queue-memory/src/memory-watch.ts',
    edits: [['if (before !== undefined && !isAfter(place, before.newest)) return false;', '']],
    caughtBy: 'libs/adapters/queue-memory/src/memory-watch.test.ts',
    breaks: 'Who has lost the lease adds nothing to what is kept of the workflow, and drops nothing of it.',
  },
};

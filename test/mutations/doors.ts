/** Owns the mutations of doors: what other frameworks stand on. */

import type { Mutations } from './mutation.ts';

const THREAD = 'libs/author/langgraph/src/thread.ts';
const KEPT = 'libs/author/langgraph/src/kept.ts';
const INVOCATIONS_TEST = 'libs/author/langgraph/src/invocations.test.ts';
const GRAPHS_TEST = 'libs/author/langgraph/src/graphs.test.ts';
const DURABLE = 'libs/author/langgraph/src/durable-graph.ts';
const GRAPH_STATE = 'libs/author/langgraph/src/graph-state.ts';
const NODE_CALLS = 'libs/author/langgraph/src/node-context.ts';
const DURABLE_TEST = 'libs/author/langgraph/src/durable-graph.test.ts';
const KEYED = 'libs/author/langgraph/src/store.ts';
const KEYED_TEST = 'libs/author/langgraph/src/store.test.ts';
const WRITER = 'libs/engine/runtime/src/shadow/recorded-writer.ts';
const LIST = 'libs/engine/runtime/src/shadow/recorded-list.ts';
const SESSION = 'libs/author/openai-agents/src/session.ts';
const RUN_AGENT = 'libs/author/openai-agents/src/run.ts';
const RECORDED_AGENTS = 'libs/author/openai-agents/src/recorded-agents.ts';
const RUN_AGENT_TEST = 'libs/author/openai-agents/src/run-agent.test.ts';
const RECORDED_MODEL = 'libs/author/openai-agents/src/recorded-model.ts';
const RUN_AGENT_SESSION_TEST = 'libs/author/openai-agents/src/run-agent-session.test.ts';
const SESSION_TEST = 'libs/author/openai-agents/src/session.test.ts';
const STORE = 'libs/author/claude-sessions/src/session-store.ts';
const TRANSCRIPTS = 'libs/author/claude-sessions/src/transcripts.ts';
const STORE_TEST = 'libs/author/claude-sessions/src/session-store.test.ts';

export const DOOR_MUTATIONS: Mutations = {
  'refused-invocation-writes-on': {
    file: THREAD,
    edits: [['if (by.refusal !== undefined) throw by.refusal;', '']],
    caughtBy: INVOCATIONS_TEST,
    test: 'what was deleted is not written back by who read it before',
    breaks: 'T1: after a refusal nothing of that invocation is kept.',
  },
  'invocations-see-no-other': {
    file: THREAD,
    edits: [['if (!isSame || (position ?? by.sequence) !== before)', 'if (!isSame)']],
    caughtBy: INVOCATIONS_TEST,
    test: 'keeps nothing, its subgraphs neither, behind one of the same process',
    breaks: 'T1: of two invocations in one process, the one that is behind writes nothing.',
  },
  'updates-lose-each-other': {
    file: THREAD,
    edits: [["if (read === 'newest' || (isPut", 'if ((isPut']],
    caughtBy: INVOCATIONS_TEST,
    test: 'two updates that read the same checkpoint do not lose each other',
    breaks: 'T2: whoever writes on from what is no longer the newest is refused.',
  },
  'oversized-takes-others-along': {
    file: THREAD,
    edits: [['if (!isLast && (error instanceof LimitError || error instanceof InvalidError)) return false;', '']],
    caughtBy: INVOCATIONS_TEST,
    test: 'is refused by itself, and is never seen',
    breaks: 'What is too large is refused by itself.',
  },
  'heads-without-a-bound': {
    file: KEPT,
    edits: [['HEADS_MAX_COUNT && chars <= HEADS_MAX_CHARS) break;', 'HEADS_MAX_COUNT) break;']],
    caughtBy: INVOCATIONS_TEST,
    test: 'is not the sum of what fits: many large namespaces, and long names of them',
    failsWith: 'bytes',
    breaks: 'Namespaces that fit one by one fit together.',
  },
  'early-writes-are-lost': {
    file: THREAD,
    edits: [['?? this.#writtenBefore.get(namespace, id) ?? at;', '?? at;']],
    caughtBy: GRAPHS_TEST,
    test: 'has what was written before a checkpoint that comes later, once that is there',
    breaks: 'Writes that arrive before their checkpoint belong to it.',
  },
  'namespaces-are-lost': {
    file: THREAD,
    edits: [['step: leftStep(entry.namespace), what', "step: leftStep(''), what"]],
    caughtBy: GRAPHS_TEST,
    test: 'keeps messages, parallel tasks and more subgraphs than its newest state has room for',
    breaks: 'A subgraph’s newest checkpoint is found, however many there are.',
  },
  'threads-of-other-tenants': {
    file: 'libs/engine/runtime/src/shadow/recorded-names.ts',
    edits: [["const isPlain = this.tenant === 'default' && PLAIN.test(name);", 'const isPlain = PLAIN.test(name);']],
    caughtBy: GRAPHS_TEST,
    test: 'shows a thread to its own tenant alone',
    failsWith: 'belongs to another tenant',
    breaks: 'Threads of one name of two tenants are two threads.',
  },
  'adopted-while-it-runs': {
    file: 'libs/author/langgraph/src/adopt.ts',
    edits: [['if (JSON.stringify(after.map(stateOf)) !== JSON.stringify(tuples.map(stateOf))) {', 'if (false) {']],
    caughtBy: 'libs/author/langgraph/src/adopt.test.ts',
    test: 'says when the thread was invoked at the source meanwhile',
    breaks: 'A thread that goes on at its source is not taken over in silence.',
  },
  'adopted-over-its-own': {
    file: 'libs/author/langgraph/src/adopt.ts',
    edits: [['if (there !== undefined && writes.every((name) => there.includes(name))) continue;', 'continue;']],
    caughtBy: 'libs/author/langgraph/src/adopt.test.ts',
    test: 'takes a thread over in flight, none of whose tasks runs twice, and gives it back whole',
    breaks: 'A thread that went on here is not mixed with what its old place has.',
  },
  'belief-of-a-single-change': {
    file: 'libs/engine/runtime/src/shadow/recorded-stream.ts',
    edits: [['page.slice(Math.max(0, whole))', 'page.slice(whole)']],
    caughtBy: GRAPHS_TEST,
    test: 'goes on from its past at a person’s wish, and forks there',
    failsWith: "doesn't fit the belief before it",
    breaks: 'Belief at an entry is made of all changes since the last whole one.',
  },
  'refused-write-opens-a-thread': {
    file: THREAD,
    edits: [['if (failed.length < waiting.length) return', 'if (failed.length <= waiting.length) return']],
    caughtBy: INVOCATIONS_TEST,
    test: 'what was deleted is not written back by who read it before',
    breaks: 'What is refused opens no stream, which lists would show.',
  },
  'node-repeats-what-it-did-before-it-asked': {
    file: DURABLE,
    edits: [['new NodeCalls(ctx, taskId, before ?? [])', 'new NodeCalls(ctx, taskId, [])']],
    caughtBy: DURABLE_TEST,
    test: 'is done once, also before an interrupt and whoever dies',
    failsWith: 'A crash changed what comes out',
    breaks: 'A node that is answered gets what its calls got before, and makes none of them again.',
  },
  'node-asks-otherwise-after-its-answer': {
    file: NODE_CALLS,
    edits: [["earlier === undefined && call.startsWith('effect ')", 'earlier !== undefined']],
    caughtBy: DURABLE_TEST,
    test: 'is refused where it asks something else after an interrupt than before, and outside of a node',
    breaks: 'An effect is not called a second time in other words.',
  },
  'siblings-run-in-each-others-tasks': {
    file: DURABLE,
    edits: [['if (isRoot && only !== undefined && taskId !== only)', 'if (false)']],
    caughtBy: DURABLE_TEST,
    test: 'takes thirty sends, each of which is a task of its node’s name, messages, and a name with spaces',
    breaks: 'D1: of several nodes of a superstep each runs in its own task, once.',
  },
  'graph-is-taken-for-a-part-of-another': {
    file: DURABLE,
    edits: [
      ['passes.run(pass, () => apart(() => graph.invoke', 'passes.run(pass, () => (async () => graph.invoke'],
      ['settings as never)));', 'settings as never))());'],
    ],
    caughtBy: DURABLE_TEST,
    test: 'is done again by a node that calls it by itself, which is what the rest is for',
    failsWith: 'neither ended nor asked',
    breaks: 'A graph runs by itself, whoever woke its worker.',
  },
  'subgraph-forgets-that-it-begins': {
    file: DURABLE,
    edits: [['...(before === undefined && { [RESUMING]: undefined }),', '']],
    caughtBy: DURABLE_TEST,
    test: 'ends as with the framework: a subgraph of its own memory, twice, and one that keeps nothing',
    failsWith: 'not within 8000 ms',
    breaks: 'A subgraph with a memory takes its new input, where it has not stopped before.',
  },
  'recursion-without-a-limit': {
    file: GRAPH_STATE,
    edits: [['stepOf(head) + 1 > head.stop', 'stepOf(head) > head.stop']],
    caughtBy: DURABLE_TEST,
    test: '5 is where the framework has it',
    breaks: 'The recursion limit is where the framework has it.',
  },
  'store-finds-other-namespaces': {
    file: KEYED,
    edits: [['if (prefix.every((label, at) => labels[at] === label)) found', 'found']],
    caughtBy: KEYED_TEST,
    test: 'searches below a prefix, with filters and pages, and finds words',
    breaks: 'A search is of the namespaces below its prefix, and of none whose name begins alike.',
  },
  'store-keeps-the-first-write-of-a-batch': {
    file: KEYED,
    edits: [['new Map(puts.map((put)', 'new Map(puts.toReversed().map((put)']],
    caughtBy: KEYED_TEST,
    test: 'does the operations of a batch, the reads before the writes, the last write of a key',
    breaks: 'S1: of the writes of a key in a batch the last one counts.',
  },
  'lost-session-is-written-on': {
    file: WRITER,
    edits: [['      if (this.#lost !== undefined) throw this.#lost;\n', '']],
    caughtBy: SESSION_TEST,
    test: 'refuses the second of two processes by name, and the loser goes on once it has read again',
    breaks: 'W1: after a refusal a session is written again only once it was read.',
  },
  'session-of-others-is-written-on': {
    file: WRITER,
    edits: [['    if (!since.every((entry) => mayFollow(entry))) throw', '    if (since.length < 0) throw']],
    caughtBy: SESSION_TEST,
    test: 'refuses the second of two processes by name, and the loser goes on once it has read again',
    breaks: 'W1: a write is refused when another process wrote since this one read.',
  },
  'new-session-is-joined': {
    file: WRITER,
    edits: [['if (this.#read?.workflow === undefined && stream.sequence > 0) continue;', '']],
    caughtBy: SESSION_TEST,
    test: 'begins a new one once: of two at once, one is refused',
    breaks: 'W1: where no session was, one that another process has begun meanwhile is not written on.',
  },
  'deleted-session-is-written-on': {
    file: WRITER,
    edits: [['if (!isSame) throw', 'if (!isSame && stream === null) throw']],
    caughtBy: SESSION_TEST,
    test: 'refuses who writes to a session that another process deleted, and its id begins anew',
    breaks: 'W1: who has not seen that a session was deleted does not begin it anew.',
  },
  'arrived-write-is-repeated': {
    file: WRITER,
    edits: [['?.mark === mark)) return true;', '?.mark === mark)) return false;']],
    caughtBy: SESSION_TEST,
    test: 'takes a change once, also where it arrived and the answer was lost',
    breaks: 'W2: a write whose answer was lost is in the stream once.',
  },
  'part-of-a-change-is-shown': {
    file: LIST,
    edits: [
      [
        "    entries.push({ step: 'items',",
        "    entries.push({ belief: { head: [first + entries.length, part.length], clearedAt } as unknown as Json, step: 'items',",
      ],
    ],
    caughtBy: SESSION_TEST,
    test: 'leaves a history that was, at every append, and another one goes on',
    breaks: 'A change that needs several appends is there whole or not at all.',
  },
  'operations-outlive-a-clear': {
    file: LIST,
    edits: [['clearedAt: isClear ? first : clearedAt', 'clearedAt: isClear ? clearedAt : clearedAt']],
    caughtBy: SESSION_TEST,
    test: 'forgets operations when it is cleared, and not when it is compacted',
    breaks: 'A cleared session knows no operations.',
  },
  'operation-is-applied-again': {
    file: SESSION,
    edits: [
      ['if (applied === digest) return undefined;', 'if (applied === digest) return { drop: expected.length, items };'],
    ],
    caughtBy: SESSION_TEST,
    test: 'applies an operation once, whoever repeats it',
    breaks: 'A repeated operation changes nothing.',
  },
  'suffix-is-not-compared': {
    file: SESSION,
    edits: [['if (!isSame(await newestItems(stream, expected.length), expected)) {', 'if (stream === null) {']],
    caughtBy: SESSION_TEST,
    test: 'refuses a suffix that differs, and does not remember the operation',
    breaks: 'A suffix that no longer matches is not replaced.',
  },
  'popped-items-are-read': {
    file: LIST,
    edits: [
      ['place = begin > 0 ? [at, begin] : below;', 'place = begin > 0 ? [at, begin] : at > 1 ? [at - 1, 1] : null;'],
    ],
    caughtBy: SESSION_TEST,
    test: 'replaces all by what is compacted, in one change',
    breaks: 'A list continues beneath a change where the change says, not with the entry before it.',
  },
  'all-is-read-for-the-newest': {
    file: LIST,
    edits: [
      [
        '/** Entries that the first page of a reading has, and the largest. */\nconst PAGE_FIRST_COUNT = 16;',
        'const PAGE_FIRST_COUNT = 100_000;',
      ],
    ],
    caughtBy: SESSION_TEST,
    test: 'reads the newest items flat, and writes what the turn added',
    breaks: 'Reading the newest items costs as much as they do.',
  },
  'batch-is-dropped': {
    file: STORE,
    edits: [
      ['await writer.write(entries, this.#closing.signal);', 'await writer.write(entries, AbortSignal.abort());'],
    ],
    caughtBy: STORE_TEST,
    test: 'drops no batch: they wait in their order, longer than the framework tries, and it says so',
    failsWith: 'the log is away',
    breaks: 'S1: a batch waits while the log is unavailable.',
  },
  'transcript-batches-overtake': {
    file: STORE,
    edits: [['session.turn = batch.catch(() => {});', '']],
    caughtBy: STORE_TEST,
    test: 'keeps the order of several batches that come at once, of several entries each',
    breaks: 'S1: batches are in the transcript in the order in which they came.',
  },
  'batches-wait-without-limit': {
    file: STORE,
    edits: [['waiting + bytes <= this.#waitingMaxBytes', 'waiting + bytes <= Number.POSITIVE_INFINITY']],
    caughtBy: STORE_TEST,
    test: 'takes batches up to a limit, and refuses further ones by name',
    breaks: 'What waits has a limit.',
  },
  'title-stops-the-agent': {
    file: STORE,
    edits: [['areBeside(linesIn(entry))', 'linesIn(entry).length === 0']],
    caughtBy: STORE_TEST,
    test: 'takes titles and tags from anywhere, since the conversation does not go on from them',
    failsWith: 'Another process has written session',
    breaks: 'A title that somebody adds does not end the agent’s writing.',
  },
  'title-reads-the-conversation': {
    file: STORE,
    edits: [
      [
        'areBeside(entries) ? this.#writerOf(key, () => true) : session.writer',
        'areBeside(entries) ? Object.assign(session, { writer: this.#writerOf(key, () => true) }).writer : session.writer',
      ],
    ],
    caughtBy: STORE_TEST,
    test: 'takes titles and tags from anywhere, since the conversation does not go on from them',
    breaks: 'Who adds a title may not go on with a conversation that it has not read.',
  },
  'repeated-line-is-loaded-twice': {
    file: TRANSCRIPTS,
    edits: [['const isNew = !seen.has(uuid);', "const isNew = uuid !== '';"]],
    caughtBy: STORE_TEST,
    test: 'keeps a line once that comes again, by its uuid',
    breaks: 'A batch that is repeated adds no line twice.',
  },
  'dropped-transcript-is-loaded': {
    file: TRANSCRIPTS,
    edits: [['begins.filter(([path]) => path !== subpath)', "begins.filter(([path]) => path !== '')"]],
    caughtBy: STORE_TEST,
    test: 'deletes one subagent alone',
    breaks: 'A deleted transcript is read by nobody.',
  },
  'recorded-tool-forgets-what-it-left': {
    file: RECORDED_AGENTS,
    edits: [['        restore(context, changed);', '']],
    caughtBy: RUN_AGENT_TEST,
    test: 'ends as the one that nobody killed, with each call under one key',
    failsWith: 'A crash changed what comes out',
    breaks: 'A tool that is not called again leaves in the context what it left there when it was.',
  },
  'unnamed-tools-are-repeated': {
    file: RECORDED_AGENTS,
    edits: [["this.#rules[tool.name]! : 'irreversible'", "this.#rules[tool.name]! : 'idempotent'"]],
    caughtBy: RUN_AGENT_TEST,
    test: 'that nobody has named, and in which its process died, asks a person',
    breaks: 'A tool of which nobody says that it may be repeated is not.',
  },
  'turn-follows-whatever-is-there': {
    file: SESSION,
    edits: [['if (placeOf(stream) === after)', 'if (after !== placeOf(stream) || true)']],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'keeps nothing of a turn where somebody else wrote meanwhile, and the run says so',
    breaks: 'A run adds its turn to what it has read, and to nothing else.',
  },
  'turn-is-not-known-again': {
    file: SESSION,
    edits: [['if ((await operationIn(stream, operation.step)) !== undefined) return undefined;', '']],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'has each turn whole and once, as the framework keeps it, whatever boundary its worker dies at',
    failsWith: 'A crash changed what comes out',
    breaks: 'A turn that has arrived is known by its key.',
  },
  'kept-turn-is-denied': {
    file: SESSION,
    edits: [
      [
        '(await operationIn(stream, operation.step)) !== undefined',
        '(await operationIn(stream, operation.step)) === digest',
      ],
    ],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'has a turn once that was kept before its process died, also where it would be made otherwise now',
    failsWith: 'Somebody else has written',
    breaks: 'A turn that has arrived is known by its key, whatever a replay makes of it.',
  },
  'approval-is-asked-of-nobody': {
    file: RUN_AGENT,
    edits: [['hasDynamicFunctionToolApprovalPolicy({ needsApproval }) ||', 'needsApproval.length > 0 ||']],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'names a tool whose approval the definition does not declare before anything is asked',
    breaks: 'Any function of the user may ask, and is not called to find out.',
  },
  'text-is-taken-for-a-file': {
    file: RECORDED_MODEL,
    edits: [['(!isFile(text)) return FILE_ESCAPED.test(text) ?', "(!isFile(text)) return text === '' ?"]],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'is sent as it is recorded, with all it has',
    failsWith: 'any more',
    breaks: 'Text that reads like a file’s name comes back as it was.',
  },
  'agent-is-asked-something-else': {
    file: RECORDED_MODEL,
    edits: [['asking(requestIn(recorded, request, files))', 'asking(recorded && request)']],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'is sent as it is recorded, with all it has',
    breaks: 'A model whose answer nobody recorded is asked again what is recorded.',
  },
  'summary-misses-lines': {
    file: TRANSCRIPTS,
    edits: [['hasAll ? summaryAfter?.(before) : undefined', 'hasAll && summaryAfter ? summaryAfter(before) : before']],
    caughtBy: STORE_TEST,
    test: 'is kept with each append, whichever host makes it, and loads no session',
    breaks: 'What a listing shows has all lines, or is not there.',
  },
  'summary-begins-in-the-middle': {
    file: TRANSCRIPTS,
    edits: [['hasAll ? summaryAfter?.(before)', 'true ? summaryAfter?.(before)']],
    caughtBy: STORE_TEST,
    test: 'is not kept of a session that began without it, and is of one whose subagent spoke first',
    breaks: 'What a listing shows has all lines, or is not there.',
  },
  'turn-writes-the-whole-history': {
    file: RUN_AGENT,
    edits: [['const same = common === -1 ? before.length : common;', 'const same = common === -1 ? 0 : 0;']],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'keeps nothing of a turn where somebody else wrote meanwhile, and the run says so',
    breaks: 'A turn writes what it adds, however long the history is.',
  },
  'refused-turn-is-tried-again': {
    file: RUN_AGENT,
    edits: [["retry: { nonRetryable: ['session-written-elsewhere'] },", '']],
    caughtBy: RUN_AGENT_SESSION_TEST,
    test: 'keeps nothing of a turn where somebody else wrote meanwhile, and the run says so',
    breaks: 'A turn that is behind is refused at once.',
  },
  'graph-begins-anew-in-silence': {
    file: DURABLE,
    edits: [['.refine(isWhole, {', '.refine(isWhole && (() => true), {']],
    caughtBy: DURABLE_TEST,
    test: 'is forked with other values by name, and says what is missing where they are all that it is given',
    breaks: 'A fork with other values goes on where its base was.',
  },
  'graph-shows-what-is-the-frameworks': {
    file: GRAPH_STATE,
    edits: [['if (HIDDEN.test(channel) ||', 'if (']],
    caughtBy: DURABLE_TEST,
    test: 'has its values as its belief by name, also bytes, and what the framework needs where no view shows it',
    breaks: 'Views show the values of a graph, and no channels of the framework.',
  },
};

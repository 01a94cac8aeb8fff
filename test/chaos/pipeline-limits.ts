/** Owns every limit of the interrupted pipeline: name, unit, default. */

/** Steps of the pipeline, in order. */
export const STEPS = ['collect', 'filter', 'draft', 'rewrite', 'format'] as const;
/** How long each step waits, in milliseconds, where a model would answer. */
export const STEP_MS = 400;
/** Tokens that each step would have paid for as soon as it begins: a fixed number, since no model is called. */
export const TOKENS_PER_STEP = 1_000;
/** A life's length is uniform between 0 and this share of the steps' own time; the first one's share is 1: each run is interrupted. */
export const LIFE_SHARE_MAX = 1.25;
/** Of a hundred lives, so many end while the process is still starting. */
export const START_KILLS_PERCENT = 25;
/** Restarts that a supervisor without state grants before it gives up. */
export const PLAIN_RESTARTS = 3;
/** Lives that a run with state may take before it counts as unfinished. */
export const LIVES_MAX = 50;
/** A life that lasts longer than this, in milliseconds, hangs. */
export const LIFE_MAX_MS = 60_000;

export const WITNESS_FILE = 'witness.jsonl';
export const OUTPUT_FILE = 'output.md';
export const STATE_FOLDER = 'state';

/** What was published of such a pipeline, of 20 runs: finished without and with state, tasks repeated per failed run. */
export const PUBLISHED = { runs: 20, finishedWithout: 8, finishedWith: 18, repeatedWithout: 2.3, repeatedWith: 0 };

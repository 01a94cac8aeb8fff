/**
 * Owns seeds that once failed, each with what it found: they are run by every test from then on. What a seed draws changes with
 * the simulation, so what was found and mended is also in the list of guards, or has a test of its own beside its source.
 */

export const FOUND: readonly { readonly seed: number; readonly what: string }[] = [
  { seed: 392, what: 'a cancelled run whose validator was away, and that counted as crashed' },
  { seed: 421, what: 'a join read outputs from rows that had just been rebuilt, and completed without them' },
  { seed: 1412, what: 'the simulation forged an event that can not be written' },
  { seed: 1875, what: 'a pool that grew while the store was dropped: the older partitions never got their rows back' },
  { seed: 2251, what: 'outputs that were missing at a join, as in 421' },
  { seed: 2410, what: 'a start that was acknowledged and rejected, and whose placement was lost with the store' },
  { seed: 2523, what: 'rows that never came back, as in 1875' },
  { seed: 3480, what: 'timers anchored by a clock that was ahead: the simulation set clocks back to before them' },
  { seed: 3782, what: 'a start that was lost, as in 2410' },
  { seed: 5017, what: 'a question that named the effect of another task, and so could not be answered' },
  { seed: 5018, what: 'two tasks that went to a person in one turn' },
  { seed: 5038, what: 'a confirmation that came while the holder that waits for it ran other tasks' },
  { seed: 6070, what: 'a question that answered itself before its holder knew that it was asked' },
  {
    seed: 21286,
    what: 'an undo of what a receiver had accepted and not confirmed: the simulated receiver did it all the same',
  },
  { seed: 22748, what: 'a confirmation right behind the event that began the wait for it' },
  { seed: 23879, what: 'a cancelled run that ended unheard, though a confirmation came with its last append' },
  { seed: 26373, what: 'a confirmation right behind its wait, as in 22748' },
  { seed: 50064, what: 'a sender was told that its workflow is unknown, since the rows were lost between two reads' },
  {
    seed: 101152,
    what: 'an outcome left by a dead holder that counted unasked, since another task had been committed or confirmed first',
  },
  { seed: 109241, what: 'a holder that let go a lease that another had taken meanwhile' },
];

/**
 * Owns what one checkpoint costs, as measured by `bench -- load`: the model's only facts. Every figure can be replaced by those of another
 * run (`--costs FILE`, its JSON lines); those here are of the run that docs/scaling.md names.
 */

import { InvalidError } from '@tidemark/core';

export interface Costs {
  /** Processor time for one checkpoint, in microseconds of one core, by role. */
  readonly cpuUs: Readonly<Record<Role, number>>;
  /** Events of the log for one checkpoint, claims, effects, openings and ends among them. */
  readonly eventsPerCheckpoint: number;
  /** Bytes of one event, as the log has it. */
  readonly eventBytes: number;
}

export const roles = ['worker', 'kafka', 'coordinator', 'postgres', 'redis', 'compactor'] as const;
export type Role = (typeof roles)[number];

/** Of the hour in docs/load.md: `npm run bench -- load --minutes 60` on two cores, a bare loop at 4.9 ns a turn. */
export const MEASURED: Costs = {
  cpuUs: { worker: 315, kafka: 101, coordinator: 175, postgres: 112, redis: 19, compactor: 95 },
  eventsPerCheckpoint: 1.17,
  eventBytes: 1_604,
};

/** Those of a run's JSON lines. Throws `InvalidError` (`costs-incomplete`) when a figure is missing. */
export function costsFrom(text: string): Costs {
  const figures = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (!line.startsWith('{')) continue;
    const { name, value } = JSON.parse(line) as { name: string; value: number };
    figures.set(name, value);
  }
  const figure = (name: string): number => {
    const value = figures.get(name);
    if (value !== undefined && value > 0) return value;
    throw new InvalidError(
      'costs-incomplete',
      `The file of costs has no ${name}: give the JSON lines of a whole run of bench -- load --json.`,
      { name },
    );
  };
  const cpu = roles.map((role) => [role, figure(`load.cpu.${role}.us_per_checkpoint`)]);
  return {
    cpuUs: Object.fromEntries(cpu) as Record<Role, number>,
    eventsPerCheckpoint: figure('load.events') / figure('load.checkpoints'),
    eventBytes: figure('load.event_bytes'),
  };
}

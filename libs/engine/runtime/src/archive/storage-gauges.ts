/** Owns the gauges of how much space history takes, by tenant and for the largest workflows, and of how far the archive compresses it. */

import type { ProjectionStore, StorageUse, Telemetry } from '@tidemark/ports';

/** Largest tenants and workflows that metrics report. */
const STORAGE_TENANTS_MAX_COUNT = 1_000;
const STORAGE_WORKFLOWS_MAX_COUNT = 20;

const LIMITS = { tenant: STORAGE_TENANTS_MAX_COUNT, workflow: STORAGE_WORKFLOWS_MAX_COUNT } as const;

export class StorageGauges {
  readonly #ports: { readonly store: Pick<ProjectionStore, 'storage'>; readonly telemetry: Telemetry };
  /** Names of the last report: a gauge keeps its value until it is set again. */
  readonly #reported = { tenant: new Set<string>(), workflow: new Set<string>() };

  constructor(ports: { readonly store: Pick<ProjectionStore, 'storage'>; readonly telemetry: Telemetry }) {
    this.#ports = ports;
  }

  async report(): Promise<void> {
    for (const by of ['tenant', 'workflow'] as const) {
      const uses = await this.#ports.store.storage(by, LIMITS[by]);
      const names = new Set(uses.map(({ name }) => name));
      for (const name of this.#reported[by]) if (!names.has(name)) this.#set(by, { name, ...NOTHING });
      for (const use of uses) this.#set(by, use);
      this.#reported[by] = names;
    }
  }

  #set(by: 'tenant' | 'workflow', { name, hotBytes, archivedBytes, archivedRawBytes }: Sizes): void {
    const { telemetry } = this.#ports;
    const metric = by === 'tenant' ? 'storage_bytes' : 'storage_workflow_bytes';
    telemetry.gauge(metric, hotBytes, { [by]: name, form: 'rows' });
    telemetry.gauge(metric, archivedBytes, { [by]: name, form: 'segments' });
    // The archived history's size in the log: compared with the segments it shows the compression.
    telemetry.gauge(metric, archivedRawBytes, { [by]: name, form: 'segments-as-log' });
  }
}

type Sizes = Pick<StorageUse, 'name' | 'hotBytes' | 'archivedBytes' | 'archivedRawBytes'>;

const NOTHING = { hotBytes: 0, archivedBytes: 0, archivedRawBytes: 0 };

/** Entry point of @tidemark/files: a workflow as plain files. */

export { type ExportOptions, exportFiles } from './export.ts';
export { type FilesFolder, openFolder } from './folder.ts';
export {
  DEDUPE_INDEX,
  type DedupeEntry,
  type DedupeIndex,
  dedupeEntrySchema,
  dedupeIndexSchema,
  EXECUTION_LOG,
  HANDOFF,
  LAST_SUCCESS,
  type LastSuccessFile,
  type LogLine,
  lastSuccessFileSchema,
  logLineSchema,
  RUN_STATE,
  type RunState,
  readJson,
  runStateSchema,
  type StepState,
  stepStateSchema,
} from './formats.ts';
export { handoffText, readHandoffs } from './handoff-text.ts';
export { type Imported, type ImportOptions, importFiles } from './import.ts';
export { type Mirror, type MirrorOptions, mirrorFiles } from './mirror.ts';
export type { FilesReport, OnReport } from './reports.ts';
export { HANDOFF_SIGNAL, type RunView } from './run-view.ts';
export type { ReadRecords, Shown } from './source.ts';
export type { RecordWrite, WayBack } from './way-back.ts';
export type { FindSecrets } from './withhold.ts';

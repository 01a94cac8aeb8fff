export { type Adopted, adoptThread } from './adopt.ts';
export { type SaverHost, type SaverOptions, TidemarkSaver } from './saver.ts';

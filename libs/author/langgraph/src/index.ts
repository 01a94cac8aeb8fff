export { type Adopted, adoptThread } from './adopt.ts';
export { type SaverOptions, TidemarkSaver } from './saver.ts';

export { type SaverHost, type SaverOptions, TidemarkSaver } from './saver.ts';

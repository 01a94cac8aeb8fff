/** Entry point of @tidemark/blob-fs. */

export { type FsObjectsOptions, openFsBlobs, openFsObjects } from './fs-objects.ts';

/** The door of @tidemark/blob-s3. */

export { openS3Blobs, type S3BlobsOptions } from './s3-blobs.ts';

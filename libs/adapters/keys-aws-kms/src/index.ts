/** Entry point of @tidemark/keys-aws-kms. */

export { type AwsKmsKeysOptions, openAwsKmsKeys } from './aws-kms-keys.ts';

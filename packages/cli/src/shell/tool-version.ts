import packageFile from '../../package.json' with { type: 'json' };

/** The version of Thrice, as recorded in manifests. */
export const toolVersion: string = packageFile.version;

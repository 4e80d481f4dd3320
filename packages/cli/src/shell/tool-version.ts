import packageFile from '../../package.json' with { type: 'json' };

/** The version that manifests name. */
export const toolVersion: string = packageFile.version;

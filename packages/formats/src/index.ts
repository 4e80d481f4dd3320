export { importGroup } from './import-group.ts';
export { findFormat, resultFormats } from './registry.ts';
export type { FileContent, ResultFormat } from './result-format.ts';

/** ` --dir FOLDER` for a command that we propose, unless it is the default. */
export function folderFlag(folder: string): string {
  return folder === '.thrice' ? '' : ` --dir ${folder}`;
}

/** ` --stage NAME` for a command that we propose. */
export function stageFlag(stage: string): string {
  return ` --stage ${stage}`;
}

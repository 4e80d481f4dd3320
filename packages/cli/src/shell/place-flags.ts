/** Returns ` --dir FOLDER` for a suggested command, or nothing for the default folder. */
export function folderFlag(folder: string): string {
  return folder === '.thrice' ? '' : ` --dir ${folder}`;
}

/** Returns ` --stage NAME` for a suggested command. */
export function stageFlag(stage: string): string {
  return ` --stage ${stage}`;
}

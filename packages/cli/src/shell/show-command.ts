import { quoteArgument } from './quote-argument.ts';

/**
 * The command that shows a cell.
 *
 * @param flag - Where the group is, as `folderFlag` and `stageFlag` write it.
 */
export function showCommand(
  { run, config, id }: { readonly run: string; readonly config: string; readonly id: string },
  flag: string,
): string {
  // Otherwise such an id would be taken for an option.
  const end = id.startsWith('-') ? ' --' : '';
  return `thrice show ${run} ${config}${flag}${end} ${quoteArgument(id)}`;
}

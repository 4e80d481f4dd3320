import * as z from 'zod';
import type { GroupHeader } from '../domain/group.ts';
import { limits } from '../limits.ts';
import type { UserCall, UserCallRequest, UserCode } from '../ports/user-code.ts';

/** Timeouts in a row, by pattern or file. */
export const timeoutCountsSchema = z.array(z.tuple([z.string(), z.int()]));
/** Timeouts in a row, by pattern or file. */
export type TimeoutCounts = z.infer<typeof timeoutCountsSchema>;

/** The user code of one group. */
export interface GroupCode extends Pick<UserCode, 'match'> {
  readonly call: (request: Omit<UserCallRequest, 'specPath'>) => Promise<UserCall>;
}

/** The user code of one group, which is given up where it does not end. */
interface BoundedCode extends GroupCode {
  /** What to continue from after the last match or call. */
  readonly timeoutCounts: () => TimeoutCounts;
}

/**
 * Gives a pattern, or a function of a file, up after `limits.patternTimeouts` timeouts in a row: from then on, each of its
 * matches or calls ends with a timeout at once.
 *
 * Counts for as long as the returned code is used. Matches run one after the other, so that those waiting
 * when a pattern is given up do not run either.
 *
 * @param header - The group's: its code is relative to its spec.
 * @param from - The counts of another one. @default no timeouts
 */
export function groupCode(
  userCode: UserCode,
  header: Pick<GroupHeader, 'specSource'>,
  from: TimeoutCounts = [],
): BoundedCode {
  const timeoutCounts = new Map(from);
  const unlessGivenUp = async <Ended extends { readonly kind: string }>(
    name: string,
    run: () => Promise<Ended>,
  ): Promise<Ended | { readonly kind: 'timeout' }> => {
    if ((timeoutCounts.get(name) ?? 0) >= limits.patternTimeouts) return { kind: 'timeout' };
    const ended = await run();
    const timeoutCount = timeoutCounts.get(name) ?? 0;
    timeoutCounts.set(name, ended.kind === 'timeout' ? timeoutCount + 1 : 0);
    return ended;
  };
  let last: Promise<unknown> = Promise.resolve();
  return {
    match: (pattern, text, limitMs) => {
      const name = `${pattern.flags}/${pattern.source}`;
      const found = last.then(() =>
        unlessGivenUp(name, () => userCode.match(pattern, text, limitMs)),
      );
      last = found.catch(() => undefined);
      return found;
    },
    call: (request) =>
      unlessGivenUp(`${Object.keys(request.file.files)[0]}#${request.method}`, () =>
        userCode.call({ ...request, specPath: header.specSource.path }),
      ),
    timeoutCounts: () => [...timeoutCounts],
  };
}

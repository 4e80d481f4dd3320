import * as z from 'zod';
import type { Benchmark } from '../domain/benchmark.ts';
import { gradeConfigsOf } from '../domain/config-models.ts';
import type { GroupHeader } from '../domain/group.ts';
import { limits } from '../limits.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { CacheEntry, ListedResponse, ResponseCache } from '../ports/response-cache.ts';
import { isPlanned } from '../publish/graded-group.ts';

/** Where calls of groups are found and entered. */
export interface CacheStores {
  readonly ledger: Pick<Ledger, 'readGroup'>;
  readonly responseCache: ResponseCache;
}

/** Where the filling of a response cache continues. */
export const fillPositionSchema = z.strictObject({
  /** The run and config whose calls are entered. */
  source: z.string(),
  config: z.string(),
  /** The place of the last of them that was. */
  after: z.string(),
});
/** Where the filling of a response cache continues. */
export type FillPosition = z.infer<typeof fillPositionSchema>;

/** The calls to enter for a group. */
export interface CacheFilling {
  readonly header: GroupHeader;
  readonly benchmark: Pick<Benchmark, 'sharesCalls'>;
  /** Where to start. @default the first call */
  readonly from?: FillPosition | undefined;
  /** Called after each page with where the filling continues. It ends when that returns true. @default never */
  readonly betweenPages?: (next: FillPosition) => Promise<boolean> | boolean;
}

/**
 * Whether a group may take calls without buying them that are not in its response cache by themselves: those of groups that it
 * reuses, and its own that an edit lets its configs share.
 */
export function hasCallsToEnter(
  { reuse, edits }: GroupHeader,
  { sharesCalls }: Pick<Benchmark, 'sharesCalls'>,
): boolean {
  return reuse.length > 0 || (sharesCalls && edits.length > 0);
}

/**
 * Enters the calls that a group may take without buying them: those of the groups that it reuses, replicate by
 * replicate, and its own, which an edit or a copy between engines may have brought.
 *
 * To be called before the tasks of the group are sent, so that no cell buys what is still to be entered. A call that is
 * entered stays, so an interrupted filling may continue from any earlier position, also in another process, and the
 * first group that has a call comes first. A reused group that was deleted since is left out.
 *
 * @returns Whether every call is entered.
 */
export async function fillResponseCache(
  { header, benchmark, from, betweenPages }: CacheFilling,
  { ledger, responseCache }: CacheStores,
): Promise<boolean> {
  const { sharesCalls } = benchmark;
  const sources = await Promise.all(header.reuse.map((group) => ledger.readGroup(group)));
  const groups = sources.flatMap((record) => (record === undefined ? [] : [record.header]));
  const parts = (sharesCalls ? [header, ...groups] : groups).flatMap((group) =>
    partsOf(group, header),
  );
  const first = parts.findIndex((part) => isAt(part, from));
  for (const part of parts.slice(Math.max(0, first))) {
    const { source, config } = part;
    const after = isAt(part, from) ? from?.after : undefined;
    for await (const page of pagesOf(responseCache.listResponses(source, config, after))) {
      await responseCache.addEntries(
        page.flatMap((response) => callsOf(response, part, sharesCalls)),
      );
      const last = page.at(-1);
      if (last === undefined) continue;
      if ((await betweenPages?.({ source, config, after: last.place })) === true) return false;
    }
  }
  return true;
}

/** The calls of a config in a run, to be entered for another run. */
interface FillPart {
  readonly source: string;
  readonly config: string;
  readonly run: string;
}

/** The parts of a group whose calls another one takes, replicate by replicate. */
function partsOf(group: GroupHeader, { runs }: GroupHeader): readonly FillPart[] {
  return runs.flatMap((run, index) => {
    const source = group.runs[index];
    if (source === undefined) return [];
    const planned = group.configs.filter(({ config }) => isPlanned(group, config));
    const configs = [...planned.map(({ config }) => config), ...gradeConfigsOf(group)];
    return configs.map((config) => ({ source, config, run }));
  });
}

function isAt({ source, config }: FillPart, position: FillPosition | undefined): boolean {
  return position?.source === source && position.config === config;
}

/** What a call is entered as. */
function callsOf(
  { buyer, fingerprint, sample }: ListedResponse,
  { run, config }: FillPart,
  sharesCalls: boolean,
): readonly CacheEntry[] {
  const call = { run, fingerprint, sample };
  const forAll = { call: { ...call, config: null }, buyer };
  // Without sharing, a config of the same name comes first: configs that ask the same keep answers of their own.
  return sharesCalls ? [forAll] : [{ call: { ...call, config }, buyer }, forAll];
}

async function* pagesOf(
  responses: AsyncIterable<ListedResponse>,
): AsyncIterable<readonly ListedResponse[]> {
  let page: ListedResponse[] = [];
  for await (const response of responses) {
    page.push(response);
    if (page.length < limits.pageSize) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

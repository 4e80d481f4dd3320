import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { aCompletion, type HttpServer, sendJson, startHttpServer } from './http-server.ts';

/** A server that bills every request for an answer, and holds back those that a test names. */
export interface CountingVendor extends AsyncDisposable {
  readonly url: string;
  /** The calls of a group that were billed so far, in all or to one model. */
  billedTo(group: string, model?: string): number;
  /** Answers what was held back, where somebody still waits for it, and holds back nothing any more. */
  release(): void;
}

/** Starts a server that holds back the answers of some models until it is told to release them. */
export async function startCountingVendor(heldModels: readonly string[]): Promise<CountingVendor> {
  let held: (() => void)[] | undefined = [];
  const server: HttpServer = await startHttpServer((response, { body }) => {
    const model = String(body['model']);
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const send = () => sendJson(response, aCompletion({ content: '42' }, { model, usage }));
    if (held !== undefined && heldModels.includes(model)) held.push(send);
    else send();
  });
  return {
    url: server.url,
    billedTo: (group, model) =>
      server.requests.filter(({ headers, body }) => {
        const isOfGroup = String(headers['x-thrice-cell']).startsWith(`${group}-r`);
        return isOfGroup && (model === undefined || body['model'] === model);
      }).length,
    release: () => {
      for (const send of held ?? []) send();
      held = undefined;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The calls in the journal of a group: the answers, and what was paid for nothing. */
export function journaledCalls(folder: string, group: string): number {
  using database = openDatabase(join(folder, 'thrice.db'));
  const query = "SELECT count(*) AS count FROM calls WHERE run LIKE ? || '-r%'";
  return Number(database.prepare(query).get(group)?.['count']);
}

/** The calls of a group that its user was told may be paid twice. */
export function toldCalls(
  folder: string,
  group: string,
): readonly Readonly<Record<string, string>>[] {
  const file = join(folder, 'runs', group, 'paid-twice.jsonl');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}

/** Lets the leases end of all workers, as if a minute had passed. */
export function endLeases(folder: string): void {
  using database = openDatabase(join(folder, 'thrice.db'));
  database.exec(`UPDATE cells SET lease_until = 0 WHERE state = 'claimed';
    UPDATE tasks SET visible_at = 0 WHERE holder IS NOT NULL`);
}

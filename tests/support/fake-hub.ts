import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { listen } from './listen.ts';

/** One dataset of a hub that a test serves. */
export interface FakeHubDataset {
  readonly repository: string;
  readonly commit: string;
  /** Contents by path; those in `largeFiles` are listed with a SHA-256, as git LFS has them. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  readonly largeFiles?: readonly string[];
  /** The token without which nothing is served. */
  readonly token?: string;
  /** Contents that are sent in place of those listed. */
  readonly sent?: Readonly<Record<string, string>>;
}

/** A hub on loopback. */
export interface FakeHub extends AsyncDisposable {
  readonly url: string;
  /** Method and path of each request. */
  readonly requests: readonly string[];
}

/**
 * Serves a dataset as huggingface.co does: the revision, the tree in pages of two files, and the files by range.
 *
 * @see @huggingface/hub 2.17.5, `src/lib/dataset-info.ts`, `list-files.ts`, `file-download-info.ts`
 */
export async function startFakeHub(dataset: FakeHubDataset): Promise<FakeHub> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host ?? ''}`);
    requests.push(`${request.method} ${decodeURIComponent(url.pathname)}`);
    const answer = answerTo(url, request.headers, dataset);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  const listening = await listen(server);
  return {
    ...listening,
    url: `http://127.0.0.1:${listening.port}`,
    requests,
  };
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

const PAGE_FILES = 2;

function answerTo(
  url: URL,
  {
    authorization,
    range,
  }: { readonly authorization?: string | undefined; readonly range?: string | undefined },
  dataset: FakeHubDataset,
): Answer {
  const { repository, commit, token } = dataset;
  const path = decodeURIComponent(url.pathname);
  if (token !== undefined && authorization !== `Bearer ${token}`) {
    return json(401, { error: 'Access to this dataset is restricted.' });
  }
  if (path.startsWith(`/api/datasets/${repository}/revision/`)) {
    return path.endsWith('/revision/missing')
      ? json(404, { error: 'Invalid rev id: missing' })
      : json(200, { _id: '1', id: repository, sha: commit, lastModified: '2026-01-01T00:00:00Z' });
  }
  if (path === `/api/datasets/${repository}/tree/${commit}`) return tree(url, dataset);
  const [, name = ''] = path.split(`/datasets/${repository}/resolve/${commit}/`);
  const content = dataset.sent?.[name] ?? dataset.files[name];
  if (content === undefined) return json(404, { error: 'Repository not found' });
  return file(Buffer.from(content), range);
}

function tree(url: URL, { files, largeFiles = [] }: FakeHubDataset): Answer {
  const start = Number(url.searchParams.get('cursor') ?? 0);
  const entries = Object.entries(files).map(([path, text]) => {
    const content = Buffer.from(text);
    const lfs = { oid: hash('sha256', content), size: content.length, pointerSize: 130 };
    return {
      type: 'file',
      path,
      size: content.length,
      oid: hash('sha1', Buffer.concat([Buffer.from(`blob ${content.length}\0`), content])),
      ...(largeFiles.includes(path) && { lfs }),
    };
  });
  const next = new URL(url);
  next.searchParams.set('cursor', String(start + PAGE_FILES));
  const isLast = start + PAGE_FILES >= entries.length;
  const answer = json(200, [
    { type: 'directory', path: 'main', size: 0, oid: '0' },
    ...entries.slice(start, start + PAGE_FILES),
  ]);
  if (isLast) return answer;
  return { ...answer, headers: { ...answer.headers, Link: `<${next.href}>; rel="next"` } };
}

function file(content: Buffer, range: string | undefined): Answer {
  const headers = { ETag: `"${hash('sha256', content)}"`, 'Accept-Ranges': 'bytes' };
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? [];
  if (first === undefined) return { status: 200, headers, body: content };
  const end = Math.min(last === '' ? content.length - 1 : Number(last), content.length - 1);
  const body = content.subarray(Number(first), end + 1);
  const contentRange = `bytes ${first}-${end}/${content.length}`;
  return { status: 206, headers: { ...headers, 'Content-Range': contentRange }, body };
}

function json(status: number, body: unknown): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  };
}

function hash(algorithm: 'sha1' | 'sha256', content: Uint8Array): string {
  return createHash(algorithm).update(content).digest('hex');
}

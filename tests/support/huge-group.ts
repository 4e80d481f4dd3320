import {
  type BlobStore,
  type CellRecord,
  type CellResult,
  type CellTask,
  type GroupHeader,
  type Ledger,
  type TaskQueue,
  ThriceError,
} from '@thrice/core';
import { aCellResult, aFailedResult, aQuestion } from './builders.ts';
import { FakeStage } from './fake-stage.ts';

/** Digits of a question's number in its id. */
const DIGITS = 8;
/** Every so many cells, one has failed. */
const FAILED_EVERY = 99_991;
/** Different latencies, ms. */
const LATENCIES = 1_999;
/** Values of the tag `kind`. */
const KINDS = 7;

/** The size of a {@link HugeGroup}. */
interface HugeSize {
  readonly questions: number;
  /** Configs that ask every question. */
  readonly fullConfigs: number;
  /** Questions of each kind that one more config asks. */
  readonly perKind: number;
  readonly runs: number;
}

/** What is known of the text of a blob that is not kept. */
interface Rows {
  readonly count: number;
  readonly bytes: number;
  readonly firstId: string;
  readonly lastId: string;
}

/**
 * A group of any number of cells in a stage that keeps none of them: questions and results are made when they are read,
 * tasks and rows are counted when they are written.
 */
export class HugeGroup {
  readonly stage = new FakeStage();
  readonly header: Promise<GroupHeader>;
  readonly queue: Pick<TaskQueue, 'send'> = { send: async (_lane, tasks) => this.#count(tasks) };
  /** Tasks that were sent before. */
  repeatedCount = 0;
  /** Cells with a task. */
  plannedCount = 0;
  /** Characters of the largest text that is kept. */
  largestText = 0;
  readonly #size: HugeSize;
  readonly #sent = new Map<string, Uint8Array>();
  readonly #rows = new Map<string, Rows>();
  readonly #results = Array.from({ length: LATENCIES }, (_, latencyMs) =>
    // Without calls, which would take half as long again.
    aCellResult({ latencyMs }),
  );
  readonly #failed = aFailedResult();
  readonly #lines = openLines();
  readonly #checkpoints: string[] = [];

  constructor(size: HugeSize) {
    this.#size = size;
    this.header = this.#create();
  }

  async #create(): Promise<GroupHeader> {
    const { questions, fullConfigs, perKind, runs } = this.#size;
    const full = Array.from({ length: fullConfigs }, (_, at) => ({ name: `full-${at + 1}` }));
    const small = await this.stage.enter({
      group: 'small',
      configs: [...full, { name: 'some', model: 'spare/m' }],
    });
    await this.stage.activeGroups.remove({ group: 'small', token: 'token-1' });
    const { spec } = small;
    const select = { start: 0, per_tag: { tag: 'kind', limit: perKind } };
    const header: GroupHeader = {
      ...small,
      group: 'huge',
      runs: Array.from({ length: runs }, (_, at) => `huge-r${at + 1}`),
      questions: { key: QUESTIONS, sha256: 'a'.repeat(64), count: questions },
      configs: small.configs.map((each) => ({
        ...each,
        cells: each.config === 'some' ? KINDS * perKind : questions,
      })),
      spec: {
        ...spec,
        configs: spec.configs.map((config) =>
          config.name === 'some' ? { ...config, select } : config,
        ),
      },
    };
    await this.stage.ledger.createGroup(header);
    await this.stage.activeGroups.add('huge');
    return header;
  }

  /** The rows of a published cells file. */
  rowsOf(run: string, config: string): Rows | undefined {
    return this.#rows.get(`runs/huge/${run}/cells/${config}.jsonl`);
  }

  readonly ledger: Ledger = new Proxy(this.stage.ledger, {
    get: (target, property) => {
      if (property === 'readCells') return this.#readCells;
      const member: unknown = Reflect.get(target, property);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });

  readonly #readCells: Ledger['readCells'] = async (run, config, ids) => {
    const cells = new Map<string, CellRecord>();
    for (const id of ids) {
      const result = this.resultOf(Number(id.slice(1)));
      const key = { run, config, id };
      cells.set(id, { key, state: 'done', generation: 0, attempts: 1, attemptLog: [], result });
    }
    return cells;
  };

  /** The result of the cells of a question. */
  resultOf(no: number): CellResult {
    if (no % FAILED_EVERY === 0) return this.#failed;
    return this.#results[(no * 7_919) % LATENCIES] ?? this.#failed;
  }

  #count(tasks: readonly CellTask[]): void {
    for (const { run, config, id, question } of tasks) {
      const no = Number(id.slice(1));
      if (question.offset !== no * this.#lines.bytes)
        throw new Error(`expected the range of ${id}`);
      const name = `${run} ${config}`;
      const sent = this.#sent.get(name) ?? new Uint8Array(this.#size.questions);
      this.#sent.set(name, sent);
      if (sent[no] === 1) this.repeatedCount += 1;
      else this.plannedCount += 1;
      sent[no] = 1;
    }
  }

  readonly blobs: BlobStore = {
    write: async (key, chunks) => {
      if (!isCounted(key)) {
        await this.stage.blobs.write(key, chunks);
        if (isCheckpoint(key)) this.#dropCheckpointsBefore(key);
        this.largestText = Math.max(this.largestText, this.stage.blobs.texts.get(key)?.length ?? 0);
        return;
      }
      this.#rows.set(key, await countRows(chunks));
    },
    concat: async (key, parts) => {
      if (!isCounted(key)) {
        await this.stage.blobs.concat(key, parts);
        for (const part of parts) this.stage.blobs.texts.delete(part);
        return;
      }
      this.#rows.set(key, joinRows(parts.map((part) => this.#rowsAt(part))));
    },
    readText: (key) => this.stage.blobs.readText(key),
    readLines: (key, offsetBytes = 0) =>
      key === QUESTIONS
        ? this.#lines.from(offsetBytes, this.#size.questions)
        : this.stage.blobs.readLines(key, offsetBytes),
    readRange: (...range) => this.stage.blobs.readRange(...range),
    has: (key) => this.stage.blobs.has(key),
  };

  /** Keeps the last few: the latest may not be the one that the next part continues from. */
  #dropCheckpointsBefore(key: string): void {
    this.#checkpoints.push(key);
    for (const old of this.#checkpoints.splice(0, this.#checkpoints.length - 5)) {
      this.stage.blobs.texts.delete(old);
    }
  }

  #rowsAt(key: string): Rows {
    const rows = this.#rows.get(key);
    if (rows !== undefined) return rows;
    throw new ThriceError({ code: 'store-unusable', message: `${key}: missing` });
  }
}

const QUESTIONS = 'questions/huge.jsonl';

/** Whether a blob has something of nearly every cell. */
function isCounted(key: string): boolean {
  return /[/-](?:cells|predictions)[/_.]/.test(key);
}

/** Makes the lines of the question file, all of the same length. */
function openLines() {
  const number = '#'.repeat(DIGITS);
  const template = JSON.stringify(aQuestion({ id: `q${number}`, tags: { kind: '@' } }));
  const [start = '', rest = ''] = template.split(number);
  const [middle = '', end = ''] = rest.split('@');
  const bytes = template.length + 1;
  return {
    bytes,
    from: async function* (offset: number, count: number): AsyncIterable<string> {
      if (offset % bytes !== 0) throw new Error(`expected the start of a line, received ${offset}`);
      for (let no = offset / bytes; no < count; no += 1) {
        yield `${start}${String(no).padStart(DIGITS, '0')}${middle}${no % KINDS}${end}`;
      }
    },
  };
}

function isCheckpoint(key: string): boolean {
  return /^checkpoints\/.*\/\d+\.json$/.test(key);
}

async function countRows(chunks: AsyncIterable<string> | Iterable<string>): Promise<Rows> {
  let rows: Rows = { count: 0, bytes: 0, firstId: '', lastId: '' };
  let last = '';
  for await (const chunk of chunks) {
    let count = 0;
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', at + 1)) count += 1;
    const firstId = rows.count === 0 ? idIn(chunk.slice(0, 200)) : rows.firstId;
    last = chunk.slice(chunk.lastIndexOf('\n', chunk.length - 2) + 1);
    rows = { count: rows.count + count, bytes: rows.bytes + chunk.length, firstId, lastId: '' };
  }
  return { ...rows, lastId: idIn(last.slice(0, 200)) };
}

function idIn(line: string): string {
  return /"id":"(q\d+)"/.exec(line)?.[1] ?? '';
}

/** @throws {Error} If the pieces do not follow each other. */
function joinRows(pieces: readonly Rows[]): Rows {
  // The last piece of an array may have its end alone.
  const filled = pieces.filter(({ firstId }) => firstId !== '');
  for (const [index, { firstId }] of filled.entries()) {
    const before = filled[index - 1]?.lastId ?? '';
    if (before >= firstId) throw new Error(`expected ${firstId} after ${before}`);
  }
  return {
    count: filled.reduce((sum, { count }) => sum + count, 0),
    bytes: filled.reduce((sum, { bytes }) => sum + bytes, 0),
    firstId: filled[0]?.firstId ?? '',
    lastId: filled.at(-1)?.lastId ?? '',
  };
}

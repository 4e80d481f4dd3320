import { appendFile, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { callThrice, type Outcome, runThrice, withoutCodes } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface BadInput {
  readonly name: string;
  readonly files?: Readonly<Record<string, string>>;
  /** @default run benchmark.toml */
  readonly argv?: readonly string[];
  /** Lines on stderr; `<folder>` and `<server>` stand for the actual values. */
  readonly stderr: readonly string[];
  /** @default 64 */
  readonly exitCode?: number;
}

const question = '{"id": "q1", "question": "1 + 1?", "target": "2"}\n';
/** A key that must never be printed. */
const canaryKey = 'sk-canary-0123456789';

/** A valid spec; each part can be replaced or extended. */
function spec({
  top = 'questions = "questions.jsonl"',
  lane = 'base_url = "<server>/v1"',
  config = 'name = "a"\nmodel = "lab/m"',
  more = '',
}: {
  readonly top?: string;
  readonly lane?: string;
  readonly config?: string;
  readonly more?: string;
} = {}): Readonly<Record<string, string>> {
  const text = `${top}\n[lanes.lab]\n${lane}\n[[configs]]\n${config}\n${more}\n`;
  return { 'benchmark.toml': text, 'questions.jsonl': question };
}

const withTop = (line: string) => spec({ top: `questions = "questions.jsonl"\n${line}` });
const withLane = (line: string) => spec({ lane: `base_url = "<server>/v1"\n${line}` });
const withConfig = (line: string) => spec({ config: `name = "a"\nmodel = "lab/m"\n${line}` });
const withQuestions = (text: string) => ({ ...spec(), 'questions.jsonl': text });

const withTarget = (scorer: string, row: object) => ({
  ...withConfig(`scorer = "${scorer}"`),
  'questions.jsonl': `${JSON.stringify({ id: 'q1', question: '1 + 1?', ...row })}\n`,
});

const badSpecs: readonly BadInput[] = [
  { name: 'a missing spec', files: {}, stderr: ['thrice: <folder>/benchmark.toml: no such file'] },
  {
    name: 'a folder for a spec',
    files: { 'benchmark.toml/x': '' },
    stderr: ['thrice: <folder>/benchmark.toml: expected a file, received a folder'],
  },
  {
    name: 'an empty spec',
    files: { 'benchmark.toml': '' },
    stderr: [
      'thrice: benchmark.toml: questions: expected a file, a list of files, or { dataset = "gsm8k", path = "..." }, received nothing',
      'thrice: benchmark.toml: configs: expected a list, received nothing',
    ],
  },
  {
    name: 'TOML that does not parse',
    files: { 'benchmark.toml': 'questions = "q.jsonl"\nparallel = = 3\n' },
    stderr: [
      'thrice: benchmark.toml: expected TOML (line 2, column 12: invalid value); texts stand between quotation marks',
    ],
  },
  {
    name: 'JSON that does not parse',
    files: { 'b.json': '{\n  "questions": "q.jsonl",\n}\n' },
    argv: ['run', 'b.json'],
    stderr: [
      'thrice: b.json: expected JSON (line 3, column 1: Expected double-quoted property name)',
    ],
  },
  {
    name: 'JSON that is not an object',
    files: { 'b.json': '[1]' },
    argv: ['run', 'b.json'],
    stderr: ['thrice: b.json: the document: expected a table, received [1]'],
  },
  {
    name: 'an unknown key at the top',
    files: withTop('replicate = 3'),
    stderr: ['thrice: benchmark.toml: replicate: unknown key; did you mean "replicates"?'],
  },
  {
    name: 'an unknown key that resembles none',
    files: withTop('zzzzzzzz = 3'),
    stderr: [
      'thrice: benchmark.toml: zzzzzzzz: unknown key (expected name, questions, columns, replicates, parallel, max_attempts, timeout_s, coverage_floor, skip_missing_keys, share_calls, notify, budget_usd, select, lanes, prices, scorers, configs)',
    ],
  },
  {
    name: 'an unknown key in a config',
    files: withConfig('temprature = 0'),
    stderr: [
      'thrice: benchmark.toml: configs[0].temprature: unknown key; did you mean "temperature"?',
    ],
  },
  {
    name: 'an unknown key in a lane',
    files: withLane('api_key = "LAB_KEY"'),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.api_key: unknown key; keys are never in a spec: name the environment variable that has it, as in api_key_env = "LAB_API_KEY"',
    ],
  },
  {
    name: 'an unknown key in a scorer',
    files: spec({ more: '[scorers.close]\nkind = "numeric"\ntolerence = 0.1' }),
    stderr: [
      'thrice: benchmark.toml: scorers.close.tolerence: unknown key; did you mean "tolerance"?',
    ],
  },
  {
    name: 'an unknown key in select',
    files: spec({ more: '[select]\nlimits = 3' }),
    stderr: ['thrice: benchmark.toml: select.limits: unknown key; did you mean "limit"?'],
  },
  {
    name: 'an unknown kind of scorer',
    files: spec({ more: '[scorers.close]\nkind = "numerical"' }),
    stderr: [
      'thrice: benchmark.toml: scorers.close.kind: expected "exact", "choice", "includes", "bbh", "numeric" or "regex", received "numerical"; did you mean "numeric"?',
    ],
  },
  {
    name: 'a scorer without a kind',
    files: spec({ more: '[scorers.close]\ntolerance = 1' }),
    stderr: [
      'thrice: benchmark.toml: scorers.close.kind: expected "exact", "choice", "includes", "bbh", "numeric" or "regex", received nothing',
    ],
  },
  {
    name: 'a judge',
    files: spec({ more: '[scorers.quality]\nkind = "judge"\nmodel = "openai/gpt-5-mini"' }),
    stderr: [
      'thrice: benchmark.toml: scorers.quality.kind: expected "exact", "choice", "includes", "bbh", "numeric" or "regex", received "judge"',
    ],
  },
  {
    name: 'no questions',
    files: spec({ top: '' }),
    stderr: [
      'thrice: benchmark.toml: questions: expected a file, a list of files, or { dataset = "gsm8k", path = "..." }, received nothing',
    ],
  },
  {
    name: 'no configs',
    files: { 'benchmark.toml': 'questions = "questions.jsonl"\n' },
    stderr: ['thrice: benchmark.toml: configs: expected a list, received nothing'],
  },
  {
    name: 'an empty list of configs',
    files: { 'benchmark.toml': 'questions = "questions.jsonl"\nconfigs = []\n' },
    stderr: ['thrice: benchmark.toml: configs: expected at least one entry, received []'],
  },
  {
    name: 'a config without a model',
    files: spec({ config: 'name = "a"' }),
    stderr: [
      'thrice: benchmark.toml: configs[0].model: expected lane/model, as in openai/gpt-5.2, received nothing',
    ],
  },
  {
    name: 'text for a number',
    files: withTop('replicates = "3"'),
    stderr: ['thrice: benchmark.toml: replicates: expected a number, received "3"'],
  },
  {
    name: 'a number for text',
    files: withConfig('system = 3'),
    stderr: ['thrice: benchmark.toml: configs[0].system: expected a text, received 3'],
  },
  {
    name: 'a fraction for a whole number',
    files: withTop('parallel = 1.5'),
    stderr: ['thrice: benchmark.toml: parallel: expected a whole number, received 1.5'],
  },
  {
    name: 'text for a list',
    files: withLane('endpoints = "http://127.0.0.1:1/v1"'),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.endpoints: expected a list, received "http://127.0.0.1:1/v1"',
    ],
  },
  {
    name: 'a number for true or false',
    files: withTop('skip_missing_keys = 1'),
    stderr: ['thrice: benchmark.toml: skip_missing_keys: expected true or false, received 1'],
  },
  {
    name: 'numbers out of range',
    files: withTop('replicates = 0\nparallel = 10001\ncoverage_floor = 1.5\ntimeout_s = 0'),
    stderr: [
      'thrice: benchmark.toml: replicates: expected a number >= 1, received 0',
      'thrice: benchmark.toml: parallel: expected a number <= 10000, received 10001',
      'thrice: benchmark.toml: timeout_s: expected a number > 0, received 0',
      'thrice: benchmark.toml: coverage_floor: expected a number <= 1, received 1.5',
    ],
  },
  {
    name: 'a temperature out of range',
    files: withConfig('temperature = 2.5'),
    stderr: [
      'thrice: benchmark.toml: configs[0].temperature: expected a number <= 2, received 2.5',
    ],
  },
  {
    name: 'a number that is not finite',
    files: withConfig('temperature = nan'),
    stderr: ['thrice: benchmark.toml: configs[0].temperature: expected a number, received NaN'],
  },
  {
    name: 'a bad name',
    files: withTop('name = "My Benchmark"'),
    stderr: [
      'thrice: benchmark.toml: name: expected lower-case letters, digits, "_" and "-", at most 64, received "My Benchmark"',
    ],
  },
  {
    name: 'a bad config name',
    files: spec({ config: 'name = "a/b"\nmodel = "lab/m"' }),
    stderr: [
      'thrice: benchmark.toml: configs[0].name: expected letters, digits, "_", "." and "-", at most 64, received "a/b"',
    ],
  },
  {
    name: 'two configs with the same name',
    files: spec({ more: '[[configs]]\nname = "a"\nmodel = "lab/n"' }),
    stderr: ['thrice: benchmark.toml: configs[1].name: "a" is configs[0] already'],
  },
  {
    name: 'a model without a lane',
    files: spec({ config: 'name = "a"\nmodel = "gpt-5.2"' }),
    stderr: [
      'thrice: benchmark.toml: configs[0].model: expected lane/model, as in openai/gpt-5.2, received "gpt-5.2"',
    ],
  },
  {
    name: 'an unknown lane',
    files: spec({ config: 'name = "a"\nmodel = "opnai/gpt-5.2"' }),
    stderr: [
      'thrice: benchmark.toml: configs[0].model: unknown lane "opnai"; did you mean "openai"? (expected a built-in lane, or a [lanes.opnai] table with its base_url)',
    ],
  },
  {
    name: 'a bad lane name',
    files: spec({ more: '[lanes."My Lab"]\nbase_url = "http://127.0.0.1:1/v1"' }),
    stderr: [
      'thrice: benchmark.toml: lanes."My Lab": expected lower-case letters, digits, "_" and "-", at most 32',
    ],
  },
  {
    name: 'a lane without a URL',
    files: spec({ lane: 'max_concurrency = 4' }),
    stderr: ['thrice: benchmark.toml: lanes.lab: expected base_url or endpoints, received neither'],
  },
  {
    name: 'a lane with two kinds of URL',
    files: withLane('endpoints = ["http://127.0.0.1:1/v1"]'),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.endpoints: expected either base_url or endpoints, received both',
    ],
  },
  {
    name: 'an invalid URL',
    files: spec({ lane: 'base_url = "127.0.0.1:1800/v1"' }),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.base_url: expected an http or https URL, as in http://127.0.0.1:8000/v1, received "127.0.0.1:1800/v1"',
    ],
  },
  {
    name: 'a key in place of its variable',
    files: withLane(`api_key_env = "${canaryKey}"`),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.api_key_env: expected the name of an environment variable, as in LAB_API_KEY, never a key, received a text that is not shown: it may be a key',
    ],
  },
  {
    name: 'a key of plain letters in place of its variable',
    files: withLane('api_key_env = "canarykey0123456789abcdef0123456789"'),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.api_key_env: expected the name of an environment variable, as in LAB_API_KEY, never a key, received a text that is not shown: it may be a key',
    ],
  },
  {
    name: 'a key among the parameters of a URL',
    files: spec({ lane: `base_url = "https://lab/v1?api-key=${canaryKey}"` }),
    stderr: [
      "thrice: benchmark.toml: lanes.lab.base_url: expected a URL without user or key; name the key's variable in api_key_env, received a text that is not shown: it may be a key",
    ],
  },
  {
    name: 'a key in the body of the requests',
    files: withConfig(`extra_body = { headers = { Authorization = "Bearer ${canaryKey}" } }`),
    stderr: [
      "thrice: benchmark.toml: configs[0].extra_body: expected parameters without a key; name the key's variable in api_key_env, received a text that is not shown: it may be a key",
    ],
  },
  {
    name: 'the URL of a webhook in place of its variable',
    files: spec({ more: `[notify]\nwebhook_env = "https://hooks.example.com/${canaryKey}"\n` }),
    stderr: [
      'thrice: benchmark.toml: notify.webhook_env: expected the name of an environment variable, as in THRICE_WEBHOOK, never the URL itself, received a text that is not shown: it may be a key',
    ],
  },
  {
    name: 'a key in an invalid URL',
    files: spec({ lane: `base_url = "http//${canaryKey}@lab"` }),
    stderr: [
      'thrice: benchmark.toml: lanes.lab.base_url: expected an http or https URL, as in http://127.0.0.1:8000/v1, received a text that is not shown: it may be a key',
    ],
  },
  {
    name: 'a key in a valid URL',
    files: spec({ lane: `base_url = "https://user:${canaryKey}@lab/v1"` }),
    stderr: [
      "thrice: benchmark.toml: lanes.lab.base_url: expected a URL without user or key; name the key's variable in api_key_env, received a text that is not shown: it may be a key",
    ],
  },
  {
    name: 'an unknown scorer',
    files: withConfig('scorer = "exakt"'),
    stderr: [
      'thrice: benchmark.toml: configs[0].scorer: unknown scorer "exakt"; did you mean "exact"? (expected exact, choice, includes, bbh, numeric, or the name of a [scorers.NAME] table)',
    ],
  },
  {
    name: 'a bad pattern',
    files: spec({ more: '[scorers.last]\nkind = "regex"\npattern = \'(\\d+\'' }),
    stderr: [
      'thrice: benchmark.toml: scorers.last.pattern: expected a valid regular expression, received "(\\\\d+"',
    ],
  },
  {
    name: 'an unknown template field',
    files: withConfig('prompt = "{{qestion}}"'),
    stderr: [
      'thrice: benchmark.toml: configs[0].prompt: unknown field {{qestion}}; did you mean {{question}}? (expected question, messages, choices, tags.NAME or metadata.NAME)',
    ],
  },
  {
    name: 'a template field that one question lacks',
    files: {
      ...withConfig('prompt = "{{question}} {{tags.level}}"'),
      'questions.jsonl': `{"id": "q0", "question": "0?", "tags": {"level": "1"}}\n${question}`,
    },
    stderr: ['thrice: config "a": question "q1" has no tags.level, which the prompt asks for'],
  },
  {
    name: 'a prompt and a prompt file',
    files: { ...withConfig('prompt = "{{question}}"\nprompt_file = "p.txt"'), 'p.txt': 'x' },
    stderr: [
      'thrice: benchmark.toml: configs[0].prompt_file: expected either prompt or prompt_file, received both',
    ],
  },
  {
    name: 'a prompt without the question',
    files: withConfig('prompt = "Answer."'),
    stderr: [
      'thrice: benchmark.toml: configs[0].prompt: expected {{question}} or {{messages}}, received a template with neither: every question would be sent the same way',
    ],
  },
  {
    name: 'a policy for served models that does not exist',
    files: withConfig('served_model = "pinned"'),
    stderr: [
      'thrice: benchmark.toml: configs[0].served_model: expected "pin", "warn" or "allow", received "pinned"',
    ],
  },
  {
    name: 'a prompt file that is missing',
    files: withConfig('prompt_file = "p.txt"'),
    stderr: ['thrice: benchmark.toml: configs[0].prompt_file: <folder>/p.txt: no such file'],
  },
  {
    name: 'an empty prompt file',
    files: { ...withConfig('prompt_file = "p.txt"'), 'p.txt': '' },
    stderr: [
      'thrice: benchmark.toml: configs[0].prompt_file: <folder>/p.txt: expected text, received an empty file',
    ],
  },
  {
    name: 'a bad field in a prompt file',
    files: { ...withConfig('prompt_file = "p.txt"'), 'p.txt': '{{qestion}}' },
    stderr: [
      'thrice: benchmark.toml: configs[0].prompt: unknown field {{qestion}}; did you mean {{question}}? (expected question, messages, choices, tags.NAME or metadata.NAME)',
    ],
  },
  {
    name: 'a budget of models without a price or a bound',
    files: withTop('budget_usd = 5.0'),
    stderr: [
      'thrice: benchmark.toml: configs[0].model: expected a price of the model under a budget, received none; add [prices."lab/m"]',
    ],
  },
  {
    name: 'no requests a minute',
    files: withLane('rpm = 0'),
    stderr: ['thrice: benchmark.toml: lanes.lab.rpm: expected a number > 0, received 0'],
  },
  {
    name: 'a budget of nothing',
    files: withTop('budget_usd = 0'),
    stderr: ['thrice: benchmark.toml: budget_usd: expected dollars, more than 0, received 0'],
  },
  {
    name: 'a confidence',
    files: withConfig('confidence = true'),
    stderr: [
      'thrice: benchmark.toml: configs[0].confidence: not supported by this version; ask for it in the prompt',
    ],
  },
  {
    name: 'another solver',
    files: withConfig('solver = "orchestrator"'),
    stderr: [
      'thrice: benchmark.toml: configs[0].solver: expected one of "direct", "router", "cascade", "vote", received "orchestrator"',
    ],
  },
  {
    name: "OneShot's dialect",
    files: { 'benchmark.toml': '[[tasks]]\nprepared_dir = "x"\n' },
    stderr: [
      'thrice: benchmark.toml: tasks: rollout benchmarks are not supported by this version; expected [[configs]]',
    ],
  },
  {
    name: 'an unknown dataset',
    files: spec({ top: 'questions = { dataset = "lab", path = "." }' }),
    stderr: [
      'thrice: benchmark.toml: questions.dataset: expected a dataset of this version (bbh, gsm8k, mmlu, mmlu-pro, gpqa, hle, arc, hellaswag, truthfulqa, winogrande, commonsenseqa, mgsm, aime), received "lab"',
    ],
  },
  {
    name: 'a dataset folder without the dataset',
    files: spec({ top: 'questions = { dataset = "bbh", path = "nowhere" }' }),
    stderr: [
      'thrice: <folder>/nowhere: expected a checkout of BIG-Bench-Hard (bbh/*.json) or bbh_questions.jsonl, received neither',
    ],
  },
  {
    name: 'a dataset file that is invalid',
    files: {
      ...spec({ top: 'questions = { dataset = "bbh", path = "bbh" }' }),
      'bbh/bbh_questions.jsonl': '{"subtask": 3}\n',
      'bbh/prefixes.json': '{"prefix": {"direct": {}, "cot": {}}}',
    },
    stderr: [
      'thrice: <folder>/bbh/bbh_questions.jsonl:1: subtask: expected a text, received 3',
      'thrice: <folder>/bbh/bbh_questions.jsonl:1: index: expected a number, received nothing',
      'thrice: <folder>/bbh/bbh_questions.jsonl:1: input: expected a text, received nothing',
      'thrice: <folder>/bbh/bbh_questions.jsonl:1: target: expected a text, received nothing',
    ],
  },
  {
    name: 'a behaviour for a lane other than the simulator',
    files: withLane('behaviour = "b.json"'),
    stderr: ['thrice: benchmark.toml: lanes.lab: behaviour and faults are for lane "sim" only'],
  },
  {
    name: 'a behaviour file that is missing',
    files: {
      ...spec({ config: 'name = "a"\nmodel = "sim/m"', more: '[lanes.sim]\nbehaviour = "b.json"' }),
    },
    stderr: ['thrice: <folder>/b.json: no such file'],
  },
  {
    name: 'a bad faults file',
    files: {
      ...spec({ config: 'name = "a"\nmodel = "sim/m"', more: '[lanes.sim]\nfaults = "f.json"' }),
      'f.json': '{"seed": 1, "faults": [{"kind": "rate-limits"}]}',
    },
    stderr: [
      `thrice: <folder>/f.json: faults[0].kind: expected "rate-limit", "quota", "unauthorized", "server-error", "overloaded", "reset", "hang", "drip", "truncated-json", "empty-content", "usage-limit", "wrong-model", "content-filter", "no-choices" or "error-object", received "rate-limits"; did you mean "rate-limit"?`,
    ],
  },
];

const badQuestions: readonly BadInput[] = [
  {
    name: 'a question file that is missing',
    files: { 'benchmark.toml': spec()['benchmark.toml'] ?? '' },
    stderr: ['thrice: <folder>/questions.jsonl: no such file'],
  },
  {
    name: 'a line that is not JSON',
    files: withQuestions(`${question}\n{"id": "q2", "question": "2?"\n`),
    stderr: [
      `thrice: <folder>/questions.jsonl:3: expected JSON (column 30: Expected ',' or '}' after property value), received "{\\"id\\": \\"q2\\", \\"question\\": \\"2?\\""`,
    ],
  },
  {
    name: 'a line that is not an object',
    files: withQuestions(`${question}42\n`),
    stderr: ['thrice: <folder>/questions.jsonl:2: expected an object, received 42'],
  },
  {
    name: 'an array that does not parse',
    files: withQuestions('[\n{"id": "q1", "question": "1?"},\n]\n'),
    stderr: [
      "thrice: <folder>/questions.jsonl: expected a JSON array (line 3, column 1: Unexpected token ']')",
    ],
  },
  {
    name: 'an id given twice',
    files: withQuestions(`${question}${question}`),
    stderr: [
      'thrice: <folder>/questions.jsonl:2: id: "q1" is the id of <folder>/questions.jsonl:1 already',
    ],
  },
  {
    name: 'an id given twice in two files',
    files: {
      ...spec({ top: 'questions = ["questions.jsonl", "more.json"]' }),
      'more.json': `[${question}]`,
    },
    stderr: [
      'thrice: <folder>/more.json[0]: id: "q1" is the id of <folder>/questions.jsonl:1 already',
    ],
  },
  {
    name: 'unsafe ids',
    files: withQuestions('{"id": "..", "question": "1?"}\n{"id": "a#b", "question": "2?"}\n'),
    stderr: [
      'thrice: <folder>/questions.jsonl:1: id: expected an id of at most 80 bytes without "#", control characters or white space at its ends, received ".."',
      'thrice: <folder>/questions.jsonl:2: id: expected an id of at most 80 bytes without "#", control characters or white space at its ends, received "a#b"',
    ],
  },
  {
    name: 'an empty id',
    files: withQuestions('{"id": "", "question": "1?"}\n'),
    stderr: [
      'thrice: <folder>/questions.jsonl:1: id: expected a text, not an empty one, received ""',
    ],
  },
  {
    name: 'an empty question',
    files: withQuestions('{"id": "q1", "question": " "}\n'),
    stderr: [
      'thrice: <folder>/questions.jsonl:1: question: expected a text, received an empty one',
    ],
  },
  {
    name: 'neither question nor messages',
    files: withQuestions('{"id": "q1", "questoin": "1?"}\n'),
    stderr: [
      'thrice: <folder>/questions.jsonl:1: question: expected a question or messages, received neither; did you mean "question"?',
    ],
  },
  {
    name: 'a bad message',
    files: withQuestions('{"id": "q1", "messages": [{"role": "robot", "content": "1?"}]}\n'),
    stderr: [
      'thrice: <folder>/questions.jsonl:1: messages[0].role: expected "system", "user" or "assistant", received "robot"',
    ],
  },
  {
    name: 'a target that is an object',
    files: withQuestions('{"id": "q1", "question": "1?", "target": {"a": 1}}\n'),
    stderr: ['thrice: <folder>/questions.jsonl:1: target[0]: expected a text, received {"a":1}'],
  },
  {
    name: 'tags that are text',
    files: withQuestions('{"id": "q1", "question": "1?", "tags": "hard"}\n'),
    stderr: ['thrice: <folder>/questions.jsonl:1: tags: expected a table, received "hard"'],
  },
  {
    name: 'an attachment that is a path',
    files: withQuestions('{"id": "q1", "question": "1?", "attachments": ["a.png"]}\n'),
    stderr: [
      'thrice: <folder>/questions.jsonl:1: attachments[0]: expected an image as a data URL (data:image/png;base64,...) or an http or https address (this version reads no files), received "a.png"',
    ],
  },
  {
    name: 'an empty file',
    files: withQuestions(''),
    stderr: ['thrice: <folder>/questions.jsonl: expected at least one question, received none'],
  },
  {
    name: 'an empty array',
    files: withQuestions('[]'),
    stderr: ['thrice: <folder>/questions.jsonl: expected at least one question, received none'],
  },
  {
    name: 'an empty target, which every answer includes',
    files: withTarget('includes', { target: '' }),
    stderr: [
      'thrice: config "a": question "q1": target: expected a text, not an empty one, received ""',
    ],
  },
  {
    name: 'a target without a number',
    files: withTarget('numeric', { target: ['10', 'about ten'] }),
    stderr: [
      'thrice: config "a": question "q1": target[1]: expected one number and nothing else, received "about ten"',
    ],
  },
  {
    name: 'a target that is not among the choices',
    files: withTarget('choice', { target: 'E', choices: ['x', 'y'] }),
    stderr: [
      'thrice: config "a": question "q1": target: expected a letter of A to B or a choice\'s text, received "E"',
    ],
  },
  {
    name: 'a select that matches no question',
    files: spec({ more: '[select]\ntags = { subtask = ["snarks"] }' }),
    stderr: ['thrice: select leaves no question: expected at least one'],
  },
  {
    name: "a config's select that matches no question",
    files: withConfig('select = { start = 1 }'),
    stderr: ['thrice: config "a": select leaves no question'],
  },
];

const badCommandLines: readonly BadInput[] = [
  {
    name: 'an unknown config',
    argv: ['run', 'benchmark.toml', '--configs', 'b'],
    stderr: ['thrice: --configs: unknown config "b" (expected a)'],
  },
  {
    name: 'an unknown config that resembles one',
    argv: ['run', 'benchmark.toml', '--configs', 'alpah'],
    files: spec({ config: 'name = "alpha"\nmodel = "lab/m"' }),
    stderr: ['thrice: --configs: unknown config "alpah"; did you mean "alpha"? (expected alpha)'],
  },
  {
    name: 'an empty entry in a list',
    argv: ['run', 'benchmark.toml', '--configs', 'a,'],
    stderr: [
      "thrice: option '--configs <names>' argument 'a,' is invalid. Expected names separated by commas.",
    ],
  },
  {
    name: 'a limit of 0',
    argv: ['run', 'benchmark.toml', '--limit', '0'],
    stderr: [
      "thrice: option '--limit <n>' argument '0' is invalid. Expected a whole number, 1..999999999.",
    ],
  },
  {
    name: 'replicates that are not a number',
    argv: ['run', 'benchmark.toml', '--replicates', 'x'],
    stderr: [
      "thrice: option '--replicates <n>' argument 'x' is invalid. Expected a whole number, 1..1000.",
    ],
  },
  {
    name: 'more replicates than a spec may have',
    argv: ['run', 'benchmark.toml', '--replicates', '1001'],
    stderr: [
      "thrice: option '--replicates <n>' argument '1001' is invalid. Expected a whole number, 1..1000.",
    ],
  },
  {
    name: 'a negative number',
    argv: ['run', 'benchmark.toml', '--parallel', '-1'],
    stderr: [
      "thrice: option '--parallel <n>' argument '-1' is invalid. Expected a whole number, 1..10000.",
    ],
  },
  {
    name: 'more cells in flight than a spec may have',
    argv: ['run', 'benchmark.toml', '--parallel', '10001'],
    stderr: [
      "thrice: option '--parallel <n>' argument '10001' is invalid. Expected a whole number, 1..10000.",
    ],
  },
  {
    name: 'a budget that is no number',
    argv: ['run', 'benchmark.toml', '--budget-usd', '$5'],
    stderr: [
      "thrice: option '--budget-usd <usd>' argument '$5' is invalid. Expected dollars, more than 0 and at most 1000000, as in 12.50, or none.",
    ],
  },
  {
    name: 'an unsafe label',
    argv: ['run', 'benchmark.toml', '--label', '../x'],
    stderr: [
      'thrice: --label: expected letters, digits, "_", "." and "-", at most 64, received "../x"',
    ],
  },
  {
    name: 'an empty label',
    argv: ['run', 'benchmark.toml', '--label', ''],
    stderr: [
      'thrice: --label: expected letters, digits, "_", "." and "-", at most 64, received ""',
    ],
  },
  {
    name: 'an unknown command',
    argv: ['rum', 'benchmark.toml'],
    stderr: ["thrice: unknown command 'rum' (Did you mean run?)"],
  },
  {
    name: 'an unknown option',
    argv: ['run', 'benchmark.toml', '--parralel', '3'],
    stderr: ["thrice: unknown option '--parralel' (Did you mean --parallel?)"],
  },
  {
    name: 'an option without its value',
    argv: ['run', 'benchmark.toml', '--limit'],
    stderr: ["thrice: option '--limit <n>' argument missing"],
  },
  {
    name: 'no spec',
    argv: ['run'],
    stderr: [
      "thrice: missing required argument 'spec' (as in thrice run benchmark.toml; thrice init writes one to start from)",
    ],
  },
  {
    name: 'one argument too many',
    argv: ['run', 'benchmark.toml', 'benchmark.toml'],
    stderr: [
      "thrice: too many arguments for 'run'. Expected 1 argument but got 2: benchmark.toml, benchmark.toml.",
    ],
  },
  {
    name: 'an invalid stage name',
    argv: ['resume', 'demo', '--stage', 'no stage'],
    stderr: ['thrice: --stage: expected letters, digits and "-", at most 64, received "no stage"'],
  },
  {
    name: '--skip-missing-keys with --stage',
    argv: ['run', 'benchmark.toml', '--stage', 'dev', '--skip-missing-keys'],
    stderr: [
      'thrice: --skip-missing-keys: expected a run without --stage, received --stage, which has its own keys; choose configs with --configs',
    ],
  },
  {
    name: 'rerun without --failed',
    argv: ['rerun', 'a-r1'],
    stderr: ["thrice: required option '--failed' not specified"],
  },
  {
    name: 'summarize with a group and --latest',
    argv: ['summarize', 'a', '--latest'],
    stderr: [
      'thrice: summarize: expected a group or --latest, received both: "a" and --latest; leave one of them out',
    ],
  },
  {
    name: 'a port out of range',
    argv: ['simulate', '--port', '70000'],
    stderr: ["thrice: option '--port <n>' argument '70000' is invalid. Expected a port, 0..65535."],
  },
  {
    name: 'simulated questions without --behaviour',
    argv: ['simulate', '--questions', 'questions.jsonl'],
    stderr: ['thrice: --questions: expected --behaviour as well, received none'],
  },
  {
    name: 'recordings that are missing',
    argv: ['simulate', '--replay', 'r.jsonl'],
    stderr: ['thrice: <folder>/r.jsonl: no such file'],
  },
  {
    name: 'a list of a folder without runs',
    argv: ['ls'],
    stderr: [
      'thrice: <folder>/.thrice: expected runs, found none; start one with "thrice run SPEC", or name another folder with --dir',
    ],
  },
  {
    name: 'a resume in a folder without runs',
    argv: ['resume', 'a'],
    stderr: [
      'thrice: <folder>/.thrice: expected runs, found none; start one with "thrice run SPEC", or name another folder with --dir',
    ],
  },
  {
    name: 'a doctor for a spec that is missing',
    argv: ['doctor', 'nowhere.toml'],
    stderr: ['thrice: <folder>/nowhere.toml: no such file'],
  },
  {
    name: 'a missing key',
    files: withLane('api_key_env = "LAB_KEY"'),
    stderr: [
      'thrice: config "a": expected a key in LAB_KEY, found none',
      'thrice: set it in the shell or in ./.env, or skip such configs with --skip-missing-keys',
    ],
    exitCode: 69,
  },
  {
    name: 'a missing key of a built-in lane',
    files: spec({ config: 'name = "a"\nmodel = "openai/gpt-5.2"' }),
    stderr: [
      'thrice: config "a": expected a key in OPENAI_API_KEY, found none',
      'thrice: set it in the shell or in ./.env, or skip such configs with --skip-missing-keys',
    ],
    exitCode: 69,
  },
  {
    name: 'no config with a key',
    files: withLane('api_key_env = "LAB_KEY"'),
    argv: ['run', 'benchmark.toml', '--skip-missing-keys'],
    stderr: [
      'thrice: config "a": expected a key in LAB_KEY, found none',
      'thrice: no config would be left to run; set at least one of these keys',
    ],
    exitCode: 69,
  },
];

interface WatchingServer extends AsyncDisposable {
  readonly url: string;
  readonly requestCount: number;
}

/** Starts a server that counts requests: bad input must never cause one. */
async function watchRequests(): Promise<WatchingServer> {
  let requestCount = 0;
  const server = createServer((_, response) => {
    requestCount += 1;
    response.writeHead(500).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get requestCount() {
      return requestCount;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

type Run = (argv: readonly string[], surroundings: { readonly cwd: string }) => Promise<Outcome>;

/** Runs a command line on bad input and checks that it prints the message and changes nothing. */
async function refuses(input: BadInput, run: Run): Promise<void> {
  await using server = await watchRequests();
  const texts = Object.entries(input.files ?? spec()).map(
    ([name, text]) => [name, text.replaceAll('<server>', server.url)] as const,
  );
  await using folder = await temporaryFolder(Object.fromEntries(texts));
  const before = await readdir(folder.path, { recursive: true });

  const outcome = await run(input.argv ?? ['run', 'benchmark.toml'], { cwd: folder.path });

  const stderr = withoutCodes(outcome.stderr)
    .replaceAll(folder.path, '<folder>')
    .replaceAll(server.url, '<server>');
  expect({ ...outcome, stderr }).toEqual({
    exitCode: input.exitCode ?? 64,
    stdout: '',
    stderr: `${input.stderr.join('\n')}\n`,
  });
  expect(stderr).not.toContain(canaryKey);
  expect(await readdir(folder.path, { recursive: true })).toEqual(before);
  expect(server.requestCount).toBe(0);
}

describe('a bad spec is refused', () => {
  it.each(badSpecs)('for $name', async (input) => {
    await refuses(input, callThrice);
  });
});

describe('a bad question file is refused', () => {
  it.each(badQuestions)('for $name', async (input) => {
    await refuses(input, callThrice);
  });
});

describe('a bad command line is refused', () => {
  it.each(badCommandLines)('for $name', async (input) => {
    await refuses(input, callThrice);
  });
});

describe('as a process of its own, thrice refuses', () => {
  const chosen = [
    'a missing spec',
    'TOML that does not parse',
    'a key in place of its variable',
    'a line that is not JSON',
    'an unknown command',
    'a missing key',
  ];
  const inputs = [...badSpecs, ...badQuestions, ...badCommandLines].filter(({ name }) =>
    chosen.includes(name),
  );

  it.each(inputs)('$name', async (input) => {
    await refuses(input, runThrice);
  });
});

describe('with groups in its folder, thrice refuses', () => {
  const noGroup = (name: string) =>
    `thrice: "${name}": no group has this name, prefix or label; "thrice ls" lists all groups`;
  const cases: readonly {
    readonly name: string;
    readonly argv: readonly string[];
    /** A file and what is added to it. */
    readonly appended?: readonly [string, string];
    /** Options of a second run before the command. */
    readonly others?: readonly string[];
    readonly stderr: string;
  }[] = [
    { name: 'to resume an unknown group', argv: ['resume', 'nowhere'], stderr: noGroup('nowhere') },
    {
      name: 'to show the status of an unknown group',
      argv: ['status', 'nowhere'],
      stderr: noGroup('nowhere'),
    },
    {
      name: 'to summarize an unknown group',
      argv: ['summarize', 'nowhere'],
      stderr: noGroup('nowhere'),
    },
    { name: 'to verify an unknown group', argv: ['verify', 'nowhere'], stderr: noGroup('nowhere') },
    { name: 'to cancel an unknown group', argv: ['cancel', 'nowhere'], stderr: noGroup('nowhere') },
    {
      name: 'to rerun an unknown run',
      argv: ['rerun', 'nowhere', '--failed'],
      stderr: noGroup('nowhere'),
    },
    {
      name: 'a prefix of several groups',
      argv: ['resume', 'tri'],
      others: ['--label', 'trial-two'],
      stderr:
        'thrice: "tri": expected a unique prefix, received one of 2 groups: trial-two-<time>, trial-one-<time>; use a longer one',
    },
    {
      name: 'to resume with a changed spec',
      argv: ['resume', 'trial-one'],
      appended: ['benchmark.toml', '[select]\nlimit = 1\n'],
      stderr: [
        'thrice: <folder>/benchmark.toml: changed since trial-one-<time> was planned (expected sha256 <sha256>, received <sha256>); take the changes into the group with: thrice resume trial-one-<time> --spec <folder>/benchmark.toml; or restore the file',
        'thrice: <folder>/benchmark.toml: select.start: was nothing, is 0',
        'thrice: <folder>/benchmark.toml: select.limit: was nothing, is 1',
      ].join('\n'),
    },
    {
      name: 'to resume with changed questions',
      argv: ['resume', 'trial-one'],
      appended: ['questions.jsonl', '{"id": "q2", "question": "Why?"}\n'],
      stderr:
        'thrice: <folder>/questions.jsonl: changed since trial-one-<time> was planned (expected sha256 <sha256>, received <sha256>); take the changes into the group with: thrice resume trial-one-<time> --spec <folder>/benchmark.toml; or restore the file',
    },
    {
      name: 'to show an unknown question',
      argv: ['show', 'trial-one', 'a', 'q9'],
      stderr:
        'thrice: "q9": expected a question of trial-one-<time>, found none with this id; did you mean "q1"?',
    },
    {
      name: 'to show a run without a question',
      argv: ['show', 'trial-one'],
      stderr:
        'thrice: show: expected a run, a config and a question id, or --unparsed with a run or group and at most a config; as in: thrice show GROUP-r1 CONFIG ID',
    },
    {
      name: 'to show an unknown config',
      argv: ['show', 'trial-one', 'nowhere', 'q1'],
      stderr: 'thrice: unknown config "nowhere" (expected a)',
    },
    {
      name: 'to show one cell of several runs',
      argv: ['show', 'trial-two', 'a', 'q1'],
      others: ['--label', 'trial-two', '--replicates', '2'],
      stderr:
        'thrice: "trial-two": expected one run, received a group of 2; choose one of trial-two-<time>-r1, trial-two-<time>-r2',
    },
    {
      name: 'to rerun an unknown config',
      argv: ['rerun', 'trial-one', '--failed', '--configs', 'nowhere'],
      stderr: 'thrice: --configs: unknown config "nowhere" (expected a)',
    },
    {
      name: 'to summarize by an unknown tag',
      argv: ['summarize', 'trial-one', '--by', 'topics'],
      stderr: 'thrice: --by: unknown tag "topics"; did you mean "topic"? (expected topic)',
    },
  ];

  it.each(cases)('$name', async ({ argv, appended, others = [], stderr }) => {
    await using simulator = await startSimulator();
    await using folder = await temporaryFolder(
      smallBenchmark({ url: simulator.url, questionCount: 1 }),
    );
    const cwd = folder.path;
    await callThrice(['run', 'benchmark.toml', '--label', 'trial-one'], { cwd });
    if (others.length > 0) await callThrice(['run', 'benchmark.toml', ...others], { cwd });
    if (appended !== undefined) await appendFile(folder.resolve(appended[0]), appended[1]);
    const files = await readdir(cwd, { recursive: true });
    const { requestCount } = simulator.stats();

    const outcome = await callThrice(argv, { cwd });

    expect({
      ...outcome,
      stderr: withoutCodes(outcome.stderr)
        .replaceAll(cwd, '<folder>')
        .replaceAll(/\d{8}T\d{6}Z-[\da-f]{4}/g, '<time>')
        .replaceAll(/(sha256|received) [0-9a-f]{12}\b/g, '$1 <sha256>'),
    }).toEqual({ exitCode: 64, stdout: '', stderr: `${stderr}\n` });
    expect(await readdir(cwd, { recursive: true })).toEqual(files);
    expect(simulator.stats().requestCount).toBe(requestCount);
  });
});

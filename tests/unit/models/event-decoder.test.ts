import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  EventDecoder,
  type ServerEvent,
} from '../../../packages/models/src/transport/event-decoder.ts';

/** Decodes a stream whose pieces end at these positions. */
function decode(stream: string | Buffer, ends: readonly number[] = []): readonly ServerEvent[] {
  const bytes = Buffer.from(stream);
  const decoder = new EventDecoder();
  const cuts = [0, ...ends.map((end) => end % (bytes.length + 1)).toSorted((a, b) => a - b)];
  const pieces = cuts.map((start, index) => bytes.subarray(start, cuts[index + 1]));
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.flush()];
}

const data = (text: string) => ({ name: undefined, data: text });

describe('EventDecoder', () => {
  it.each<[string, string, readonly ServerEvent[]]>([
    ['line feeds', 'data: a\n\ndata: b\n\n', [data('a'), data('b')]],
    ['carriage returns and line feeds', 'data: a\r\n\r\ndata: b\r\n\r\n', [data('a'), data('b')]],
    ['carriage returns', 'data: a\r\rdata: b\r\r', [data('a'), data('b')]],
    ['mixed line ends', 'data: a\r\n\ndata: b\n\r\n', [data('a'), data('b')]],
    ['no space after the colon', 'data:a\n\n', [data('a')]],
    ['two spaces after the colon', 'data:  a\n\n', [data(' a')]],
    ['a colon in the data', 'data: a: b\n\n', [data('a: b')]],
    ['several lines of data', 'data: {\ndata: }\n\n', [data('{\n}')]],
    ['several lines with both line ends', 'data: {\r\ndata: }\r\n\r\n', [data('{\n}')]],
    ['an empty line of data', 'data:\n\n', [data('')]],
    ['a field without a colon', 'data\n\n', [data('')]],
    ['a name', 'event: message_stop\ndata: a\n\n', [{ name: 'message_stop', data: 'a' }]],
    ['a name without data', 'event: ping\n\ndata: a\n\n', [data('a')]],
    // "OpenRouter occasionally sends comments to prevent connection timeouts":
    // https://openrouter.ai/docs/api-reference/streaming (2026-11)
    ['comments', ': OPENROUTER PROCESSING\n\ndata: a\n\n: ping\n\n', [data('a')]],
    ['identifiers and retry times', 'id: 1\nretry: 3\ndata: a\n\n', [data('a')]],
    ['a byte order mark', '\uFEFFdata: a\n\n', [data('a')]],
    ['characters of several bytes', 'data: 數學 🙂 é\n\n', [data('數學 🙂 é')]],
    ['blank lines', '\n\n\ndata: a\n\n\n\n', [data('a')]],
    ['nothing', '', []],
    // "`data: [DONE]` arrives with no trailing blank line":
    // https://github.com/darshi1337/apogee/pull/139 (2026-08)
    ['no blank line at its end', 'data: a\n\ndata: [DONE]', [data('a'), data('[DONE]')]],
    // As llama.cpp sent errors until https://github.com/ggml-org/llama.cpp/pull/16109 (2025-09)
    [
      'an error field',
      'error: {"code":400}\n\ndata: [DONE]\n\n',
      [{ name: 'error', data: '{"code":400}' }, data('[DONE]')],
    ],
  ])('decodes a stream with %s, wherever its pieces end', (_, stream, events) => {
    const length = Buffer.byteLength(stream);
    const everyByte = Array.from({ length }, (_unused, index) => index);

    expect(decode(stream)).toEqual(events);
    expect(decode(stream, everyByte)).toEqual(events);
    for (const end of everyByte) expect(decode(stream, [end])).toEqual(events);
  });

  it('decodes the same events wherever the pieces of any bytes end', () => {
    const line = fc.constantFrom(
      'data: ',
      'data:',
      ': ',
      'event: error',
      'id',
      'é',
      '🙂',
      '\uFEFF',
    );
    const end = fc.constantFrom('\n', '\r', '\r\n', '\n\n', '');
    const text = fc.array(fc.tuple(line, fc.string(), end).map((parts) => parts.join('')));
    const bytes = fc.oneof(
      text.map((parts) => Buffer.from(parts.join(''))),
      fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    );

    fc.assert(
      fc.property(bytes, fc.array(fc.nat()), (stream, ends) => {
        expect(decode(stream, ends)).toEqual(decode(stream));
      }),
      { numRuns: 500, seed: 23 },
    );
  });

  it('takes time in proportion to a line that arrives in many pieces', () => {
    const decoder = new EventDecoder();
    const piece = Buffer.alloc(1_000, 'a');

    decoder.push(Buffer.from('data: '));
    for (let count = 0; count < 20_000; count += 1) decoder.push(piece);
    const events = decoder.flush();

    expect(events.map((event) => event.data.length)).toEqual([20_000_000]);
  });
});

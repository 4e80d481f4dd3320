import { StringDecoder } from 'node:string_decoder';

/** A server-sent event. */
export interface ServerEvent {
  /** Its `event` field; `error` too for a field of that name, with which older llama.cpp servers report errors. */
  readonly name: string | undefined;
  readonly data: string;
}

/**
 * Decodes server-sent events, in pieces that may end anywhere. Comments, identifiers and retry times are skipped.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class EventDecoder {
  readonly #utf8 = new StringDecoder('utf8');
  /** The beginning of a line whose end has not arrived. */
  #line = '';
  #name: string | undefined;
  #data: string[] = [];
  /** The next line feed belongs to a line that has ended. */
  #isAfterReturn = false;
  #isFirst = true;

  /** Returns the events that end in a piece. */
  push(piece: Buffer): readonly ServerEvent[] {
    return this.#read(this.#utf8.write(piece));
  }

  /**
   * Returns the last event of a stream that has ended. The standard ignores one without its blank line, but
   * llama.cpp, for one, ends so.
   */
  flush(): readonly ServerEvent[] {
    return this.#read(`${this.#utf8.end()}\n\n`);
  }

  #read(text: string): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    const unified = this.#unifyLineEnds(text);
    let start = 0;
    for (let end = unified.indexOf('\n'); end >= 0; end = unified.indexOf('\n', start)) {
      const line = this.#line + unified.slice(start, end);
      this.#line = '';
      start = end + 1;
      if (line !== '') this.#addLine(line);
      else if (this.#data.length > 0) events.push(this.#takeEvent());
      else this.#name = undefined;
    }
    this.#line += unified.slice(start);
    return events;
  }

  /** Lines end with a line feed, a carriage return, or both. */
  #unifyLineEnds(text: string): string {
    let unified = text;
    if (this.#isFirst && text !== '') {
      this.#isFirst = false;
      if (text.startsWith('\uFEFF')) unified = text.slice(1);
    }
    if (this.#isAfterReturn && unified.startsWith('\n')) unified = unified.slice(1);
    if (text !== '') this.#isAfterReturn = unified.endsWith('\r');
    return unified.includes('\r') ? unified.replaceAll(/\r\n?/g, '\n') : unified;
  }

  #addLine(line: string): void {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'error') {
      // https://github.com/ggml-org/llama.cpp/pull/16109 (2025-09)
      this.#name = 'error';
      this.#data.push(value);
    }
  }

  #takeEvent(): ServerEvent {
    const event = { name: this.#name, data: this.#data.join('\n') };
    this.#name = undefined;
    this.#data = [];
    return event;
  }
}

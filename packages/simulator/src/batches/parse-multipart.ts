/** The fields of a form with a file. */
export interface UploadedForm {
  readonly fields: ReadonlyMap<string, string>;
  readonly file: { readonly name: string; readonly text: string } | undefined;
}

/**
 * Parses `multipart/form-data` with at most one file.
 *
 * @returns Undefined for a body that is none.
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */
export function parseMultipart(
  contentType: string | undefined,
  body: string,
): UploadedForm | undefined {
  const boundary = /^multipart\/form-data;.*\bboundary="?([^";]+)"?/i.exec(contentType ?? '')?.[1];
  if (boundary === undefined) return undefined;
  const [, ...parts] = `\r\n${body}`.split(`\r\n--${boundary}`);
  if (parts.at(-1)?.startsWith('--') !== true) return undefined;
  const fields = new Map<string, string>();
  let file: UploadedForm['file'];
  for (const part of parts.slice(0, -1)) {
    const headEnd = part.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const head = part.slice(0, headEnd);
    const text = part.slice(headEnd + 4);
    const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? '';
    const fileName = /\bfilename="([^"]*)"/i.exec(head)?.[1];
    if (fileName === undefined) fields.set(name, text);
    else file = { name: fileName, text };
  }
  return { fields, file };
}

/** What a request about batches is answered with: a document, or the lines of a file. */
export type BatchReply = { readonly document: object } | { readonly lines: Iterable<string> };

import * as z from 'zod';

/** The solver in the spec of a group that was imported: none of its configs has a model to ask. */
export const IMPORTED = 'imported';

/** What the file of another tool says of a cell, beside a result that is read from it. */
export const importedRowSchema = z.strictObject({
  /** The format of the file, as in `echo`. */
  format: z.string(),
  /** How many rows of the file precede it. */
  position: z.int().min(0),
  /** Calls that were made for the cell, none of which is recorded. */
  calls: z.int().min(0),
  /** The row as the file has it. */
  row: z.record(z.string(), z.unknown()),
});
/** What the file of another tool says of a cell. */
export type ImportedRow = Readonly<z.infer<typeof importedRowSchema>>;

/** What a group keeps of the file that it was imported from, beside its rows. */
export const importedFileSchema = z.strictObject({
  /** As in `echo`. */
  format: z.string(),
  /** What its first line says, where that is not a row; null without one. */
  head: z.record(z.string(), z.unknown()).nullable(),
  /** What a reader of its figures has to know, a line each. */
  notices: z.array(z.string()),
});
/** What a group keeps of the file that it was imported from. */
export type ImportedFile = Readonly<z.infer<typeof importedFileSchema>>;

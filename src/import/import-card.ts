import { checkSpec, type SpecIssue } from '../engine/index.ts'
import { buildSpec, type ImportedSpec } from './build.ts'
import type { ImportOptions, Tool } from './card.ts'
import { type Note, Notes } from './notes.ts'
import { readCard } from './recognise.ts'
import { decode } from './source.ts'

/** What became of a file: a specification, or everything that stands in the way. */
export interface Import {
  /** Null when the file was not recognised. */
  readonly tool: Tool | null
  /** Null when there are faults. */
  readonly spec: ImportedSpec | null
  readonly conversions: readonly Note[]
  readonly faults: readonly Note[]
  /** What the author of the specification may want to know: holes, features without a Missing bin. */
  readonly warnings: readonly SpecIssue[]
}

/**
 * Reads the scorecard that another tool wrote, and makes a specification of it.
 *
 * Cut-offs keep their closure and their last bit, categories and points are taken as they are. What
 * can't be converted exactly is a fault with its place in the file; what no file carries is asked for
 * by a fault that names the option.
 *
 * @param bytes of the file: CSV, JSON or XML, in UTF-8
 */
export function importCard(bytes: Uint8Array, options: ImportOptions): Import {
  const notes = new Notes()
  const text = decode(bytes, notes)
  const card = text === null ? null : readCard(text, options, notes)
  const spec = card === null ? null : buildSpec(card, options, notes)
  const check = spec === null ? null : checkSpec(spec)
  if (check?.ok === false) {
    for (const { path, message } of check.faults) notes.fault(path, message)
  }
  return {
    tool: card?.tool ?? null,
    spec: check?.ok === true ? spec : null,
    conversions: notes.conversions.toArray(),
    faults: notes.faults.toArray(),
    warnings: check?.ok === true ? check.warnings : [],
  }
}

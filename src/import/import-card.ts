import { checkSpec, type SpecIssue } from '../engine/index.ts'
import { buildSpec, type ImportedSpec } from './build/build.ts'
import type { ImportOptions, Tool } from './build/card.ts'
import { type Note, Notes } from './build/notes.ts'
import { decode } from './build/source.ts'
import { readCard } from './tools/detect-tool.ts'

/** The result of reading a file: a specification, or every fault. */
export interface Import {
  /** Null when the file was not recognised. */
  readonly tool: Tool | null
  /** Null when there are faults. */
  readonly spec: ImportedSpec | null
  readonly conversions: readonly Note[]
  readonly faults: readonly Note[]
  /** Legal but suspicious parts of the specification: holes, features without a Missing bin. */
  readonly warnings: readonly SpecIssue[]
}

/**
 * Reads a scorecard that another tool wrote, and makes a specification from it.
 *
 * Cut-offs keep their closure and their last bit; categories and points do not change. A part that
 * can't be converted exactly is a fault with its position in the file. If an option is missing that
 * no file contains, a fault names the option.
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

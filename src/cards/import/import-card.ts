import { checkSpec, type SpecIssue } from '../../engine/index.ts'
import { buildSpec, type ImportedSpec } from './build/build.ts'
import type { ImportOptions, Tool } from './build/card.ts'
import { isObject } from './build/data-frame.ts'
import { type Note, Notes } from './build/notes.ts'
import { decode, readJson } from './build/source.ts'
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

/** Options that a specification holds itself. */
const HELD_OPTIONS = ['probabilities', 'riskGrades', 'basePoints', 'intercept', 'unseen'] as const

/**
 * Reads a card that is a specification of this service already.
 *
 * @returns null for any other text
 */
function readSpecification(text: string, options: ImportOptions, notes: Notes): Import | null {
  const { tool, name, scaling } = options
  const isAsked = tool === 'scoreline'
  if (!isAsked && (tool !== undefined || !SPECIFICATION.test(text))) return null
  const json = readJson(text, 'file', notes)
  const given = HELD_OPTIONS.filter((option) => options[option] !== undefined)
  if (scaling !== undefined && Object.keys(scaling).length > 0) notes.fault('scaling', HELD)
  for (const option of given) notes.fault(option, HELD)
  const check = json === undefined ? null : checkSpec(isObject(json) ? { ...json, name } : json)
  if (check?.ok === false) {
    for (const { path, message } of check.faults) notes.fault(path, message)
  }
  const isGood = check?.ok === true && notes.faults.count === 0
  return {
    tool: 'scoreline',
    // A specification may have all that an import writes, and readers of labels ask for them.
    spec: isGood ? (check.spec as ImportedSpec) : null,
    conversions: [],
    faults: notes.faults.toArray(),
    warnings: isGood ? check.warnings : [],
  }
}

const HELD = 'must be left out: the specification holds it'
/** No card of another tool has a list of features. */
const SPECIFICATION = /^\s*\{[\s\S]*"features"\s*:\s*\[/

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
  const specification = text === null ? null : readSpecification(text, options, notes)
  if (specification !== null) return specification
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

import { createHash } from 'node:crypto'
import {
  checkSpec,
  compileModel,
  type ScalingSpec,
  type ScorecardSpec,
  type SpecIssue,
} from '../../engine/index.ts'
import { hasCounts } from '../../reports/monitoring/baseline.ts'
import {
  type CountedSample,
  countScored,
  type ScoredSample,
} from '../../reports/monitoring/sample-counts.ts'
import { buildSpec, type ImportedSpec, roundingMax } from './build/build.ts'
import type { ImportOptions, Tool } from './build/card.ts'
import { isObject } from './build/data-frame.ts'
import { type Note, Notes } from './build/notes.ts'
import { decode, readJson } from './build/source.ts'
import { compare, type Parity } from './parity.ts'
import { readSample, type Sample, type SampleOptions } from './sample.ts'
import type { SampleBytes } from './sample-lines.ts'
import { fitScale } from './scale-check.ts'
import { readCard } from './tools/detect-tool.ts'

/** A card to import, and optionally a sample of applicants to check it with. */
export interface ImportInput {
  readonly card: Uint8Array
  readonly options: ImportOptions
  readonly check: CheckInput | null
}

export interface CheckInput extends SampleOptions {
  /** CSV or lines of JSON. */
  readonly sample: SampleBytes
  /** In points; 0 when the sample has the exact scores of the tool. */
  readonly tolerance: number
}

/** Proof of a check: the hashes of what was compared, and the result. */
export interface Certificate extends Omit<Parity, 'differences' | 'rounded' | 'finding'> {
  /** Null when a specification was checked instead of the card of a tool. */
  readonly tool: Tool | null
  /** Hash of the bytes of the card; null when `tool` is null. */
  readonly cardSha256: string | null
  readonly sampleSha256: string
  /** Hash of the specification as JSON without white space, as the service stores it. */
  readonly specSha256: string
}

export interface ImportOutcome extends Import {
  /** Null when nothing was checked. */
  readonly parity: Parity | null
  readonly certificate: Certificate | null
  /** The counted sample; null when nothing was checked, or an applicant differs. */
  readonly sample: CountedSample | null
}

/** The parts of an outcome that decide whether the model is registered. */
export type Verdict = Pick<ImportOutcome, 'faults' | 'parity' | 'certificate'> & {
  /** JSON of `Registered`, in UTF-8. */
  readonly registered: Uint8Array
}

/** The parts of an outcome that are stored: as objects a large card would take a long turn. */
export type Registered = Pick<ImportOutcome, 'spec' | 'sample'>

/** The result of an import that ran in its thread. */
export interface ImportResponse {
  /** JSON of `importFields`, in UTF-8. */
  readonly answer: Uint8Array
  /** Null when nothing is to be registered. */
  readonly verdict: Verdict | null
}

/**
 * Imports a card and scores the applicants of the sample, if there is one; a bad sample is a fault.
 */
export function runImport({ card, options, check }: ImportInput): ImportOutcome {
  const imported = importCard(card, options)
  const { spec, tool } = imported
  const unchecked = { ...imported, parity: null, certificate: null, sample: null }
  if (spec === null || tool === null) return unchecked
  const refused = (faults: readonly Note[]) => ({ ...unchecked, spec: null, faults })
  const isSpecification = tool === 'scoreline'
  const isFitted = options.probabilities === 'fit'
  if (check === null) {
    const message = '"fit" needs a sample with the column `pd`'
    return isFitted ? refused([{ path: 'probabilities', message }]) : unchecked
  }
  const read = findSample(spec, check)
  if (read.faults !== null) return refused(read.faults)
  const notes = new Notes()
  const scaling = isFitted ? fitScale(read.sample, notes) : null
  if (scaling !== null && scaling.pdo < 0 && spec.reasons !== undefined) {
    // The other direction was refused before: without a scale a higher score is a lower risk.
    const message =
      'has the reasonCodeAlgorithm pointsBelow, but by the fitted scale a higher score is a higher risk: correct it, or set useReasonCodes to false'
    notes.fault('Scorecard', message)
  }
  if (notes.faults.count > 0) return refused(notes.faults.toArray())
  const scaled = scaling === null ? spec : withScale(spec, scaling)
  const { parity, scored, counts } = comparison(scaled, read.sample, check, isFitted)
  return {
    ...imported,
    parity,
    sample: parity.agrees ? countedSample(scaled, scored) : null,
    spec: scaled,
    warnings: [...imported.warnings, ...sampleWarnings(parity)],
    conversions: [...imported.conversions, ...notes.conversions.toArray()],
    certificate: isSpecification
      ? { ...counts, tool: null, cardSha256: null }
      : { ...counts, tool, cardSha256: sha256(card) },
  }
}

/** A specification to check, in the form in which it would be stored. */
export interface SpecCheckInput {
  /** Accepted by `checkSpec`. */
  readonly spec: ScorecardSpec
  readonly check: CheckInput
}

/** The result of checking a specification: the comparison, or the faults of the sample. */
export type SpecChecked =
  | { readonly faults: readonly Note[] }
  | {
      readonly faults: null
      readonly parity: Parity
      readonly certificate: Certificate
      /** Null when an applicant differs. */
      readonly sample: CountedSample | null
    }

/** Scores a sample with any specification. */
export function checkSpecAgainstSample({ spec, check }: SpecCheckInput): SpecChecked {
  const read = findSample(spec, check)
  if (read.faults !== null) return read
  const { parity, scored, counts } = comparison(spec, read.sample, check, false)
  return {
    faults: null,
    parity,
    certificate: { ...counts, tool: null, cardSha256: null },
    sample: parity.agrees ? countedSample(spec, scored) : null,
  }
}

type SampleRead =
  | { readonly faults: readonly Note[] }
  | { readonly faults: null; readonly sample: Sample }

function findSample(spec: Pick<ScorecardSpec, 'features'>, check: CheckInput): SampleRead {
  const toleranceMax = roundingMax(spec.features.length)
  if (check.tolerance > toleranceMax) {
    const message =
      `must be at most ${toleranceMax} points, the most that rounding base and features to whole ` +
      'numbers can change'
    return { faults: [{ path: 'tolerance', message }] }
  }
  const notes = new Notes()
  const sample = readSample(check.sample, spec, check, notes)
  if (sample !== null) return { faults: null, sample }
  const faults = notes.faults.toArray()
  return { faults: faults.map(({ path, message }) => ({ path: `sample, ${path}`, message })) }
}

/**
 * The applicants of a sample by bin and score band: the development sample of the model. Null for a
 * specification with counts of its own, which are those of the whole sample.
 */
function countedSample(spec: ScorecardSpec, scored: ScoredSample): CountedSample | null {
  const card = { spec, model: compileModel(spec) }
  return hasCounts(card) ? null : countScored(card, scored)
}

/** Mean probability of default from which a card is likely fitted on the good flag. */
const SUSPECT_PD_MIN = 0.5

/** Warns of a sample that suits its card and looks like a mistake all the same. */
export function sampleWarnings({ meanPd }: Pick<Parity, 'meanPd'>): SpecIssue[] {
  if (meanPd === null || meanPd.engine < SUSPECT_PD_MIN) return []
  const mean = Number(meanPd.engine.toPrecision(3))
  const message =
    `the applicants have a mean probability of default of ${mean}: if the card was fitted with 1 for ` +
    'a good applicant, these are probabilities of being good, and the odds must be turned over'
  return [{ path: 'sample', message }]
}

function comparison(
  spec: ScorecardSpec,
  sample: Sample,
  { tolerance }: CheckInput,
  isFitted: boolean,
) {
  const { parity, scored } = compare(spec, sample, { tolerance, isFitted })
  const { differences: _differences, rounded: _rounded, finding: _finding, ...counts } = parity
  const hashes = { sampleSha256: sample.sha256, specSha256: sha256(JSON.stringify(spec)) }
  return { parity, scored, counts: { ...counts, ...hashes } }
}

function withScale(spec: ImportedSpec, scaling: ScalingSpec): ImportedSpec {
  const { has_pd: _, risk_grades: grades, ...rest } = spec
  return { ...rest, scaling, ...(grades !== undefined && { risk_grades: grades }) }
}

function sha256(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex')
}

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

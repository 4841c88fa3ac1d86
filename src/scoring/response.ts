import type { Applicant, CompiledModel, ModelScore, Steps } from '../engine/index.ts'
import { free } from '../platform/bytes/free.ts'
import { PreparedFragments } from '../platform/bytes/prepared-fragments.ts'
import { Utf8Writer } from '../platform/bytes/utf8-writer.ts'
import {
  IGNORED_ID,
  isIgnoredId,
  isWithoutWarnings,
  listWarnings,
  readRecordId,
  type WarningForm,
} from './input-faults.ts'
import { PREPARED_SLOTS_MAX, type ReasonsWanted, type ReasonTexts } from './reason-texts.ts'

/**
 * Writes scoring results as JSON text.
 *
 * Not through `JSON.stringify` of an object, for two reasons: an object would move a feature whose
 * name looks like an integer in front of the others, and the pairs of name and points are the same
 * for everyone in a bin, so that they can be written once, when the model is compiled.
 */
export class ResponseParts {
  /** Text of `"feature":points` for each slot of the model; null: there are too many to keep. */
  private readonly contributions: readonly string[] | null
  /** The same, each with a comma before it. */
  private readonly contributionFragments: PreparedFragments
  /** Texts between score and probability of default, for each grade. */
  private readonly gradeFragments: PreparedFragments
  private readonly gradeIndexes: ReadonlyMap<string | null, number>
  /** Bytes that a result of a batch takes, as the last ones of its form did. */
  private readonly recordBytes: Float64Array
  /** Name, version and spec version of the model, as properties. */
  private readonly modelText: string
  private readonly versionText: string

  /** Prepares the texts of a model, a feature in each step. */
  static *make(model: CompiledModel): Steps<ResponseParts> {
    const contributions: string[] = []
    for (const feature of model.featureNames.keys()) {
      addContributionTexts(model, feature, contributions)
      yield
    }
    const fragments = yield* PreparedFragments.make(contributions.map((text) => `,${text}`))
    return new ResponseParts(model, contributions, fragments)
  }

  private constructor(
    model: CompiledModel,
    contributions: readonly string[],
    contributionFragments: PreparedFragments,
  ) {
    this.contributions = contributions.length > PREPARED_SLOTS_MAX ? null : contributions
    this.contributionFragments = contributionFragments
    const grades = [null, ...model.grades.names]
    this.gradeFragments = PreparedFragments.of(
      grades.map((grade) => `,"risk_grade":${JSON.stringify(grade)},"pd":`),
    )
    this.gradeIndexes = new Map(grades.map((grade, index) => [grade, index]))
    const contributionsBytesMax = computeBytesMax(model, this.contributionFragments)
    this.recordBytes = new Float64Array(4)
    for (const withContributions of [false, true]) {
      for (const withReasons of [false, true]) {
        const form = { withContributions, withReasons }
        const contributionsBytes = withContributions ? contributionsBytesMax : 0
        const reasonsBytes = withReasons ? REASONS_BYTES : 0
        this.recordBytes[findIndex(form)] = RECORD_BYTES + contributionsBytes + reasonsBytes
      }
    }
    this.versionText = `"model_version":${JSON.stringify(model.version)}`
    const name = JSON.stringify(model.name)
    const specVersion = JSON.stringify(model.specVersion)
    this.modelText = `${this.versionText},"model_name":${name},"spec_version":${specVersion}`
  }

  /** A single result, from a `ModelScore` just filled. */
  single(
    modelScore: ModelScore,
    applicant: Applicant,
    frame: ResponseFrame,
    warnings = warningsText(modelScore, applicant, 'single', frame.reservedName),
  ): string {
    return `{${scoreText(modelScore)},${this.modelText},${frame.deploymentText},"contributions":${this.contributionsText(modelScore)},"request_id":"${frame.requestId}","scored_at":"${frame.scoredAt}","warnings":${warnings}${frame.furtherText}}`
  }

  /** Bytes that a batch of so many records will probably take. */
  batchBytes(records: number, form: RecordForm): number {
    return FRAME_BYTES + Math.ceil(records * (this.recordBytes[findIndex(form)] ?? 0))
  }

  /** Learns the size of a batch's results: ids, warnings and challengers may be long. */
  noteBytes(bytes: number, records: number, form: RecordForm): void {
    if (records === 0) return
    const index = findIndex(form)
    const expected = this.recordBytes[index] ?? 0
    const took = bytes / records
    // Too little costs more than too much, but one unusual batch must not count for good.
    this.recordBytes[index] = Math.max(took, expected + (took - expected) / 8)
  }

  /** A batch is `openBatch`, its results one after the other, `closeBatch`. */
  openBatch(into: Utf8Writer): void {
    into.writeString('{"results":[')
  }

  /** One of the results of a batch, from a `ModelScore` just filled. */
  record(
    into: Utf8Writer,
    modelScore: ModelScore,
    record: Applicant,
    { isFirst, idText, withContributions, furtherText, reasons, reservedName = 'id' }: RecordFrame,
  ): void {
    into.writeFragment(FRAME, isFirst ? OPEN_FIRST : OPEN_NEXT)
    into.writeString(idText)
    into.writeFragment(FRAME, SCORE)
    into.writeString(numberText(modelScore.score))
    into.writeFragment(this.gradeFragments, this.gradeIndexes.get(modelScore.grade) ?? 0)
    into.writeString(numberText(modelScore.pd))
    if (withContributions) {
      into.writeFragment(FRAME, CONTRIBUTIONS)
      const openedAt = into.length
      into.writeFragments(this.contributionFragments, modelScore.slots)
      into.replace(openedAt, '{')
    }
    const ofValues = warningsText(modelScore, record, 'batch', reservedName)
    const warnings = isIgnoredId(record[reservedName]) ? withIgnoredId(ofValues) : ofValues
    if (warnings === NO_WARNINGS && furtherText === '' && reasons === null) {
      into.writeFragment(FRAME, withContributions ? CLEAN_END_AFTER : CLEAN_END)
      return
    }
    into.writeString(`${withContributions ? '}' : ''},"warnings":${warnings}${furtherText}`)
    reasons?.texts.writeReasons(into, modelScore.slots, reasons.wanted)
    into.writeString('}')
  }

  closeBatch(into: Utf8Writer, total: number, frame: ResponseFrame): void {
    into.writeString(
      `],${this.versionText},${frame.deploymentText},"total":${total},"scored_at":"${frame.scoredAt}","request_id":"${frame.requestId}"${frame.furtherText}}`,
    )
  }

  /** The warnings of an applicant of a batch as JSON; null for none. */
  warnings(modelScore: ModelScore, record: Applicant, reservedName: string): string | null {
    const text = warningsText(modelScore, record, 'batch', reservedName)
    return text === NO_WARNINGS ? null : text
  }

  /** The points of each feature as JSON, in the order of the specification. */
  contributionsText(modelScore: ModelScore): string {
    const { contributions } = this
    if (contributions === null) return this.decodeContributions(modelScore)
    let text = '{'
    for (const slot of modelScore.slots) {
      text += text.length === 1 ? contributions[slot] : `,${contributions[slot]}`
    }
    return `${text}}`
  }

  private decodeContributions({ slots }: ModelScore): string {
    const into = new Utf8Writer(Buffer.allocUnsafe(CONTRIBUTIONS_BYTES))
    into.writeFragments(this.contributionFragments, slots)
    into.replace(0, '{')
    return `${into.written}}`
  }
}

const NO_WARNINGS = '[]'
/** Texts between the values of a result of a batch. */
const FRAME = PreparedFragments.of([
  '{"id":',
  ',{"id":',
  ',"score":',
  ',"contributions":',
  ',"warnings":[]}',
  '},"warnings":[]}',
])
const OPEN_FIRST = 0
const OPEN_NEXT = 1
const SCORE = 2
const CONTRIBUTIONS = 3
const CLEAN_END = 4
/** The same behind contributions. */
const CLEAN_END_AFTER = 5

/** Before there was any, without contributions and reasons. */
const RECORD_BYTES = 120
/** Four reasons with texts of usual length. */
const REASONS_BYTES = 640
/** Bytes around the results. */
const FRAME_BYTES = 1024
/** The contributions of a large card, unless they are unusually long. */
const CONTRIBUTIONS_BYTES = 64 * 1024

function computeBytesMax({ featureNames, slotStart }: CompiledModel, fragments: PreparedFragments) {
  let sum = 0
  for (const feature of featureNames.keys()) {
    let longest = 0
    const end = slotStart[feature + 1] ?? 0
    for (let slot = slotStart[feature] ?? 0; slot < end; slot++) {
      longest = Math.max(longest, fragments.countBytes(slot))
    }
    sum += longest
  }
  return sum
}

/** The parts of each result of a batch; the results of each form have a size of their own. */
interface RecordForm {
  readonly withContributions: boolean
  readonly withReasons: boolean
}

function findIndex({ withContributions, withReasons }: RecordForm): number {
  return (withContributions ? 1 : 0) + (withReasons ? 2 : 0)
}

/** Values that a result of a batch takes from its request. */
interface RecordFrame {
  readonly isFirst: boolean
  /** The record's id as JSON. */
  readonly idText: string
  readonly withContributions: boolean
  /** Further properties, each with a comma before it: shadow scores. */
  readonly furtherText: string
  /** Null: nobody asked for reasons. */
  readonly reasons: { readonly texts: ReasonTexts; readonly wanted: ReasonsWanted } | null
  /** The key of the record that is not a variable; `id` when left out. */
  readonly reservedName?: string
}

/** Texts around the results. */
export interface ResponseFrame {
  readonly requestId: string
  readonly scoredAt: string
  /** The deployment's id, as one or more properties. */
  readonly deploymentText: string
  /** The key of a single request's body that is not a variable. */
  readonly reservedName: string | undefined
  /** Further properties at the end, each with a comma before it: shadow scores, reasons. */
  readonly furtherText: string
}

function addContributionTexts(model: CompiledModel, feature: number, texts: string[]): void {
  const name = JSON.stringify(model.featureNames[feature])
  const end = model.slotStart[feature + 1] ?? 0
  for (let slot = model.slotStart[feature] ?? 0; slot < end; slot++) {
    texts.push(`${name}:${JSON.stringify(model.points[slot])}`)
  }
}

/** Score, grade and probability of default, as properties. */
export function scoreText(modelScore: ModelScore): string {
  const grade = modelScore.grade === null ? 'null' : JSON.stringify(modelScore.grade)
  return `"score":${numberText(modelScore.score)},"risk_grade":${grade},"pd":${numberText(modelScore.pd)}`
}

/** As JSON writes it: what is not finite is null. */
function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

function warningsText(
  modelScore: ModelScore,
  applicant: Applicant,
  form: WarningForm,
  reservedName: string | undefined,
): string {
  return isWithoutWarnings(modelScore, applicant, form)
    ? NO_WARNINGS
    : JSON.stringify(listWarnings(modelScore, applicant, form, reservedName))
}

function withIgnoredId(warnings: string): string {
  const first = JSON.stringify(IGNORED_ID)
  return warnings === NO_WARNINGS ? `[${first}]` : `[${first},${warnings.slice(1)}`
}

/** Echoed when it can tell records apart, else null. */
export function recordIdText(id: unknown): string {
  return JSON.stringify(readRecordId(id))
}

const BYTES_MIN = 16 * 1024
/** A larger buffer is freed: a thread that has nothing to do collects no garbage. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024
/** Limit of all idle buffers. Beyond it, the buffers that were idle for longest are dropped. */
const IDLE_BYTES_MAX = 16 * 1024 * 1024
const IDLE_MAX = 64

/**
 * Memory for the answers of batches, used again and again: with new memory for each, the kernel
 * clears a megabyte for each, and the garbage collector, which counts what stands outside of its
 * heap, marks all of that every 25: a batch of 1,000 takes 12 % more processor time, by
 * `npm run bench -- batch`.
 *
 * A buffer is *lent*, to one answer, or *idle*. It is idle again only by `giveBack`, to be called
 * when the last byte of its answer has been handed to the operating system. One that is not given
 * back, because its answer was never sent as a whole, belongs to whoever still has it, and is
 * garbage after that: nothing has to clear up, and no failure can have it lent twice.
 */
export class ResponseBuffers {
  /** The one that was used last at the end. */
  private readonly idle: Buffer[] = []
  private idleBytes = 0

  /**
   * @returns memory with arbitrary content: at least so many bytes, and less than twice as many or
   * the least
   */
  lend(bytesMin: number): Buffer {
    const bytes = Math.max(BYTES_MIN, 2 ** Math.ceil(Math.log2(bytesMin)))
    const found = this.idle.findLastIndex(({ length }) => length === bytes)
    const [buffer] = found < 0 ? [] : this.idle.splice(found, 1)
    if (buffer === undefined) return Buffer.allocUnsafeSlow(bytes)
    this.idleBytes -= bytes
    return buffer
  }

  /**
   * @param buffer that was lent, or the larger one that took its place; nobody reads or writes it
   * any more
   */
  giveBack(buffer: Buffer): void {
    if (buffer.length > KEPT_BYTES_MAX) {
      free(buffer)
      return
    }
    this.idle.push(buffer)
    this.idleBytes += buffer.length
    while (this.idleBytes > IDLE_BYTES_MAX || this.idle.length > IDLE_MAX) {
      this.idleBytes -= this.idle.shift()?.length ?? 0
    }
  }
}

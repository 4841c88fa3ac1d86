import { crc32 } from 'node:zlib'
import { ByteReader, ByteWriter, checkedBytes } from './bytes.ts'

/** Version of the bytes, and of what is counted: `log verify` counts anew, and compares. */
const COUNTS_FORM = 1
const HEAD_BYTES = 5
const SERVED = 1
const REFERENCES = 2
const SCORES = 4
/** Bytes of all scores for each result, at most. */
export const SCORE_BYTES_MAX = 2
/** Scores are written as whole numbers of halves, quarters and so on, where they are such. */
const SHIFT_MAX = 10
const AS_DOUBLES = 0xff
/** Largest whole number of `zigzag`, for differences of two. */
const WHOLE_MAX = 2 ** 50

/** Numbers by value, rising: those with an even index are values, each before its number. */
export type FlatCounts = readonly number[]

/**
 * The results of one model of a deployment in a block: those that it answered with, or the others.
 */
export interface CountedResults {
  readonly modelId: string
  readonly isServed: boolean
  /** True if one of the applicants has a reference. */
  readonly hasReferences: boolean
  /** Number of results. */
  readonly n: number
  /** Values whose exact sum is that of the scores. */
  readonly scoreSum: readonly number[]
  /** Results by score; null where there are too many scores. */
  readonly scores: FlatCounts | null
  /** Results by cell, for each feature in spec order. */
  readonly cells: readonly FlatCounts[]
}

/** Whose results are counted. */
export interface Owner {
  readonly teamId: string
  readonly deploymentId: string
}

/** Unique, because ids contain no blank. */
export function formatOwner({ teamId, deploymentId }: Owner): string {
  return `${teamId} ${deploymentId}`
}

/** The counts of a deployment in a block. */
export interface CountedBlock {
  /** Start of its first millisecond; all its requests are of one hour of UTC. */
  readonly firstAtMs: number
  readonly results: readonly CountedResults[]
}

/** Takes the counts of a block. @returns false if it needs the results themselves */
export type CountsTaker = (block: CountedBlock) => boolean

/**
 * Writes what was counted in a block.
 *
 *     counts = u8 form | u32 checksum of the block | varint deployments | each: block with the owner,
 *              block with its results | u32 CRC-32
 *     results = varint number | each: block with the model's id, u8 flags, varint n, doubles of the
 *             sum | scores, where the flags say so | varint features | each: varint cells
 *             | each: varint cell less the one before, varint number
 */
export function writeCounted(
  checksum: number,
  entries: readonly (readonly [owner: string, entry: Buffer])[],
): Buffer {
  const out = new ByteWriter()
  out.u8(COUNTS_FORM)
  out.u32(checksum)
  out.varint(entries.length)
  for (const [owner, entry] of entries) {
    out.block(Buffer.from(owner))
    out.block(entry)
  }
  out.u32(crc32(out.written()))
  return Buffer.from(out.written())
}

/** Writes the entry of a deployment for `writeCounted`, without scores that take much room. */
export function writeEntry(counted: readonly CountedResults[]): Buffer {
  const out = new ByteWriter()
  out.varint(counted.length)
  for (const { modelId, isServed, hasReferences, n, scoreSum, scores, cells } of counted) {
    const ofScores = scores === null ? null : writeScores(scores)
    const kept = ofScores !== null && ofScores.length <= n * SCORE_BYTES_MAX ? ofScores : null
    out.block(Buffer.from(modelId))
    const flags = (isServed ? SERVED : 0) | (hasReferences ? REFERENCES : 0)
    out.u8(flags | (kept === null ? 0 : SCORES))
    out.varint(n)
    out.varint(scoreSum.length)
    for (const term of scoreSum) out.f64(term)
    if (kept !== null) out.copy(kept, 0, kept.length)
    out.varint(cells.length)
    for (const counts of cells) {
      out.varint(counts.length / 2)
      let before = 0
      for (let at = 0; at < counts.length; at += 2) {
        const cell = counts[at] ?? 0
        out.varint(cell - before)
        out.varint(counts[at + 1] ?? 0)
        before = cell
      }
    }
  }
  return Buffer.from(out.written())
}

/**
 * Reads what was counted of a deployment in a block with this checksum.
 *
 * @returns null if that was not counted: see `matchesBlock`
 * @throws RangeError if the bytes are damaged
 */
export function readCounted(
  bytes: Buffer,
  checksum: number,
  owner: Owner,
): CountedResults[] | null {
  const sound = checkedBytes(bytes)
  if (!matchesHead(sound, checksum)) return null
  const from = new ByteReader(sound, HEAD_BYTES)
  for (let rest = from.varint(); rest > 0; rest--) {
    const isIt = from.block().toString() === formatOwner(owner)
    const entry = from.block()
    if (isIt) return readEntry(new ByteReader(entry))
  }
  return null
}

/**
 * Tells whether counts are those of a block with this checksum. A release without counts changes a
 * block and leaves them, a later one may write another form.
 *
 * @throws RangeError if the bytes are damaged
 */
export function matchesBlock(bytes: Buffer, checksum: number): boolean {
  return matchesHead(checkedBytes(bytes), checksum)
}

function matchesHead(sound: Buffer, checksum: number): boolean {
  const from = new ByteReader(sound)
  return from.u8() === COUNTS_FORM && from.u32() === checksum
}

function readEntry(from: ByteReader): CountedResults[] {
  return Array.from({ length: from.varint() }, () => {
    const modelId = from.block().toString()
    const flags = from.u8()
    return {
      modelId,
      isServed: (flags & SERVED) !== 0,
      hasReferences: (flags & REFERENCES) !== 0,
      n: from.varint(),
      scoreSum: Array.from({ length: from.varint() }, () => from.f64()),
      scores: (flags & SCORES) === 0 ? null : readScores(from),
      cells: Array.from({ length: from.varint() }, () => readCells(from)),
    }
  })
}

function readCells(from: ByteReader): FlatCounts {
  const counts: number[] = []
  let cell = 0
  for (let rest = from.varint(); rest > 0; rest--) {
    cell += from.varint()
    counts.push(cell, from.varint())
  }
  return counts
}

/** As `varint scores | u8 shift | each: zigzag less the one before, varint number`. */
function writeScores(scores: FlatCounts): Buffer {
  const out = new ByteWriter()
  const shift = findShift(scores)
  out.varint(scores.length / 2)
  out.u8(shift)
  let before = 0
  for (let at = 0; at < scores.length; at += 2) {
    const score = scores[at] ?? 0
    if (shift === AS_DOUBLES) out.f64(score)
    else {
      const whole = score * 2 ** shift
      out.zigzag(whole - before)
      before = whole
    }
    out.varint(scores[at + 1] ?? 0)
  }
  return out.written()
}

function readScores(from: ByteReader): FlatCounts {
  const scores: number[] = []
  let rest = from.varint()
  const shift = from.u8()
  let whole = 0
  for (; rest > 0; rest--) {
    if (shift !== AS_DOUBLES) whole += from.zigzag()
    scores.push(shift === AS_DOUBLES ? from.f64() : whole / 2 ** shift, from.varint())
  }
  return scores
}

/** Returns the least power of 2 that makes whole numbers of all scores. */
function findShift(scores: FlatCounts): number {
  let shift = 0
  for (let at = 0; at < scores.length; at += 2) {
    const score = scores[at] ?? 0
    while (!Number.isInteger(score * 2 ** shift)) if (++shift > SHIFT_MAX) return AS_DOUBLES
    if (Math.abs(score) > WHOLE_MAX / 2 ** SHIFT_MAX) return AS_DOUBLES
  }
  return shift
}

import { createHash } from 'node:crypto'
import { roundingMax } from './build.ts'
import type { ImportOptions, Tool } from './card.ts'
import { type Import, importCard } from './import-card.ts'
import { Notes } from './notes.ts'
import { compare, type Parity } from './parity.ts'
import { readSample, type SampleOptions } from './sample.ts'
import { decode } from './source.ts'

/** A card to import, and applicants to check it with. */
export interface ImportOrder {
  readonly card: Uint8Array
  readonly options: ImportOptions
  readonly check: CheckOrder | null
}

export interface CheckOrder extends SampleOptions {
  readonly sample: Uint8Array
  /** In points; 0 where the sample has the scores as the tool gave them. */
  readonly tolerance: number
}

/** Proof of a check: what was compared, by hash, and what it came to. */
export interface Certificate extends Omit<Parity, 'differences'> {
  readonly tool: Tool
  /** Of the bytes of the file. */
  readonly cardSha256: string
  /** Of the bytes of the file. */
  readonly sampleSha256: string
  /** Of the specification as JSON without white space, as the service stores it. */
  readonly specSha256: string
}

export interface ImportOutcome extends Import {
  /** Null when nothing was checked. */
  readonly parity: Parity | null
  readonly certificate: Certificate | null
}

/** What registering goes by. */
export type Verdict = Pick<ImportOutcome, 'spec' | 'faults' | 'parity' | 'certificate'>

/** An import that was carried out elsewhere. */
export interface Carried {
  /** JSON of `importFields`, in UTF-8. */
  readonly answer: Uint8Array
  /** Null where nothing is to be registered. */
  readonly verdict: Verdict | null
}

/** Imports a card and, with a sample, scores its applicants; a bad sample is among the faults. */
export function carryOut({ card, options, check }: ImportOrder): ImportOutcome {
  const imported = importCard(card, options)
  const { spec, tool } = imported
  const unchecked = { ...imported, parity: null, certificate: null }
  if (check === null || spec === null || tool === null) return unchecked
  const toleranceMax = roundingMax(spec.features.length)
  if (check.tolerance > toleranceMax) {
    const message = `must be at most ${toleranceMax} points, which rounding base and features to whole numbers can change`
    return { ...unchecked, spec: null, faults: [{ path: 'tolerance', message }] }
  }
  const notes = new Notes()
  const text = decode(check.sample, notes)
  const sample = text === null ? null : readSample(text, spec, check, notes)
  if (sample === null) {
    const faults = notes.faults.toArray()
    const placed = faults.map(({ path, message }) => ({ path: `sample, ${path}`, message }))
    return { ...unchecked, spec: null, faults: placed }
  }
  const parity = compare(spec, sample, check.tolerance)
  const { differences: _, ...counts } = parity
  const certificate = {
    ...{ tool, ...counts },
    cardSha256: sha256(card),
    sampleSha256: sha256(check.sample),
    specSha256: sha256(JSON.stringify(spec)),
  }
  return { ...imported, parity, certificate }
}

function sha256(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex')
}

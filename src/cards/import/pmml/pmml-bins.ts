import { nextUp } from '../../../engine/index.ts'
import type { Member, SourceBin, SourceFeature, Unseen } from '../build/card.ts'
import { type Notes, quote } from '../build/notes.ts'
import {
  ABOVE_ALL,
  BELOW_ALL,
  type Cut,
  compareCuts,
  isEmpty,
  type Range,
  rangeText,
  readDecimal,
} from '../build/ranges.ts'
import { NO_SCORE, type PmmlField, UNNAMED } from './pmml-field.ts'
import type { Predicate, Value } from './pmml-predicate.ts'

/** An attribute of a characteristic. */
export interface ReadAttribute {
  readonly path: string
  readonly label: string
  readonly points: number
  readonly reasonCode: string | undefined
  readonly predicate: Predicate
  readonly constants: ReadonlySet<string>
  readonly predicates: number
}

interface Context {
  readonly path: string
  readonly unseen: Unseen | undefined
  readonly notes: Notes
  readonly work: Work
}

/** Comparisons that the characteristics of a card may still make. */
export interface Work {
  left: number
}

/**
 * Comparisons of a value with a predicate. The largest legal card needs 160,000,000, in seconds.
 */
export const COMPARISONS_MAX = 200_000_000

/** The attribute of a value: the first that holds; null when the value gets no score. */
type Chosen = ReadAttribute | null

/**
 * Makes the bins of a field from the attribute of each of its values.
 *
 * @returns null after a fault: each value may be compared with every predicate, which is too much
 */
export function binsOfField(
  field: PmmlField,
  attributes: readonly ReadAttribute[],
  context: Context,
): SourceFeature | null {
  const choose = chooser(field, attributes)
  const constants = new Set(attributes.flatMap(({ constants }) => [...constants]))
  for (const constant of field.constants) constants.add(constant)
  if (!isBounded(constants.size, field, attributes, context)) return null
  const members = new Map<ReadAttribute, Member[]>()
  const give = (attribute: Chosen, member: Member) => {
    if (attribute === null) return
    const list = members.get(attribute)
    if (list === undefined) members.set(attribute, [member])
    else list.push(member)
  }
  give(choose(null), { kind: 'missing' })
  const values = field.isNumeric
    ? giveRanges(constants, choose, give, context)
    : giveCategories(constants, choose, give, context)
  reportUseless(attributes, members, [null, ...values], context)
  const bins = attributes.map(
    (attribute): SourceBin => ({
      path: attribute.path,
      label: attribute.label,
      points: attribute.points,
      reasonCode: attribute.reasonCode,
      members: members.get(attribute) ?? [],
    }),
  )
  return {
    name: field.name,
    type: field.isNumeric ? 'numeric' : 'categorical',
    bins: bins.filter((bin) => bin.members.length > 0),
  }
}

function isBounded(
  values: number,
  { intervals }: PmmlField,
  attributes: readonly ReadAttribute[],
  { path, notes, work }: Context,
): boolean {
  const predicates = attributes.reduce((sum, one) => sum + one.predicates, intervals)
  work.left -= values * predicates
  if (work.left >= 0) return true
  notes.fault(
    path,
    `compares ${values} values with ${predicates} predicates and intervals, and a card may make ` +
      `${COMPARISONS_MAX} comparisons: list values in one SimpleSetPredicate, or remove attributes`,
  )
  return false
}

function chooser(field: PmmlField, attributes: readonly ReadAttribute[]): (value: Value) => Chosen {
  return (value) => {
    const prepared = field.prepare(value)
    if (prepared === NO_SCORE) return null
    return attributes.find(({ predicate }) => predicate(prepared) === true) ?? null
  }
}

type Give = (attribute: Chosen, member: Member) => void

/** Assigns an attribute to every constant and to every interval between two constants. */
function giveRanges(
  constants: ReadonlySet<string>,
  choose: (value: Value) => Chosen,
  give: Give,
  context: Context,
): number[] {
  const cells = readCells([...constants].map(readDecimal).filter((value) => value !== null))
  let run: { attribute: Chosen; low: Cut; high: Cut } | null = null
  const close = () => {
    if (run === null) return
    const range = { low: run.low, high: run.high }
    if (run.attribute !== null) give(run.attribute, { kind: 'range', range })
    else reportHole(range, context)
  }
  for (const { range, value } of cells) {
    const attribute = choose(value)
    if (run !== null && run.attribute === attribute) run.high = range.high
    else {
      close()
      run = { attribute, low: range.low, high: range.high }
    }
  }
  close()
  return cells.map(({ value }) => value)
}

interface NumberCell {
  readonly range: Range
  /** A number in the range that stands for all of them. */
  readonly value: number
}

function readCells(constants: readonly number[]): NumberCell[] {
  const sorted = [...new Set(constants)].sort((a, b) => a - b)
  const cuts: Cut[] = [BELOW_ALL]
  for (const at of sorted) cuts.push({ at, isAfter: false }, { at, isAfter: true })
  cuts.push(ABOVE_ALL)
  const cells: NumberCell[] = []
  for (const [index, low] of cuts.entries()) {
    const high = cuts[index + 1]
    if (high === undefined || isEmpty({ low, high })) continue
    cells.push({ range: { low, high }, value: between(low, high) })
  }
  return cells.sort((a, b) => compareCuts(a.range.low, b.range.low))
}

/** A double between two cuts; the range must not be empty. */
function between(low: Cut, high: Cut): number {
  if (low.at === high.at) return low.at
  if (Number.isFinite(low.at)) return nextUp(low.at)
  return Number.isFinite(high.at) ? -nextUp(-high.at) : 0
}

/** A range for which PMML gives no score. The caller must accept that it adds 0 points here. */
function reportHole(range: Range, { path, unseen, notes }: Context): void {
  const text = `gives no score to ${rangeText(range)}, but here such a number adds 0 points`
  if (unseen === undefined) {
    notes.fault(path, `${text}: choose "zero" or "missing" for unseen to accept this`)
  } else notes.conversion(path, text)
}

function giveCategories(
  constants: ReadonlySet<string>,
  choose: (value: Value) => Chosen,
  give: Give,
  { path, notes }: Context,
): string[] {
  for (const text of constants) {
    const attribute = choose(text)
    if (attribute !== null) give(attribute, { kind: 'category', text })
    else notes.conversion(path, `gives no score to the category ${quote(text)}: it has no bin here`)
  }
  give(choose(UNNAMED), { kind: 'else' })
  return [...constants, UNNAMED]
}

/**
 * Reports attributes that no value gets: they contradict themselves, or earlier ones cover them.
 */
function reportUseless(
  attributes: readonly ReadAttribute[],
  members: ReadonlyMap<ReadAttribute, readonly Member[]>,
  values: readonly Value[],
  { notes }: Context,
): void {
  for (const attribute of attributes) {
    if (members.has(attribute)) continue
    const canHold = values.some((value) => attribute.predicate(value) === true)
    if (canHold) {
      notes.conversion(
        attribute.path,
        `(${quote(attribute.label)}) is left out, because no value gets it: earlier attributes hold ` +
          'wherever it holds, or its values are not valid. A special value listed after the ranges ' +
          'loses its bin in this way: PMML engines give it the points of a range',
      )
    } else {
      notes.fault(
        attribute.path,
        `(${quote(attribute.label)}) can never hold, so the score of its bin is lost. R scorecard ` +
          'exports special values in this way. Correct the predicate, or remove the attribute',
      )
    }
  }
}

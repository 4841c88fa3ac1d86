import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from '../build/card.ts'
import { isObject } from '../build/data-frame.ts'
import { readJoined } from '../build/joined-categories.ts'
import { type Notes, quote } from '../build/notes.ts'
import { holds, readDecimal, readInterval } from '../build/ranges.ts'
import { groupRows, readNumber, readText, type Table } from '../build/table.ts'

const EMPTY = 'nan'
/**
 * The way toad writes Python's None in a column of objects, because it turns each value into text.
 */
const NONE = 'None'
const ELSE = 'else'
/** toad's own reader does not accept a number with an exponent and takes the bin for a text. */
const EXPONENT = /\de[+-]?\d/i
/** toad's replacement for a missing number that has no bin of its own. */
const EMPTY_NUMBER = -1

interface ToadBin {
  readonly path: string
  readonly label: string
  readonly points: number | null
}

/**
 * Reads the output of toad's `ScoreCard.export`: `{feature: {bin: score}}`, or a table of `name`,
 * `value`, `score`. The base points are spread over the features.
 *
 * @source toad 0.1.4, scorecard.py, transform.py, utils/func.py
 */
export function readToad(
  source: Table | Readonly<Record<string, unknown>>,
  options: ImportOptions,
  notes: Notes,
): SourceCard {
  const bins = isTable(source) ? fromTable(source, notes) : fromObject(source, notes)
  const features = [...bins].map(([name, listed]) => {
    const isText = options.categorical?.includes(name) === true
    const isNumeric = !isText && listed.some(({ label }) => readInterval(label) !== null)
    return isNumeric
      ? numericFeature(name, listed, notes)
      : textFeature(name, listed, options, notes)
  })
  noteDecimals(features, notes)
  return {
    tool: 'toad',
    basePoints: options.basePoints ?? 0,
    features,
    rules: {
      unseen:
        'toad adds the least points of the feature ("min") unless `predict` gets another default.',
      missing: 'toad replaces it with -1.',
      elseHoldsMissing: true,
      tiles: true,
    },
  }
}

function isTable(source: Table | Readonly<Record<string, unknown>>): source is Table {
  return Array.isArray(source['rows']) && Array.isArray(source['columns'])
}

function fromTable(table: Table, notes: Notes): Map<string, ToadBin[]> {
  const bins = new Map<string, ToadBin[]>()
  for (const [name, rows] of groupRows(table.rows, 'name', 'feature', notes)) {
    const read = rows.map((row) => ({
      path: row.path,
      // pandas writes the text nan. An empty cell is a nan that another program has rewritten.
      label: readText(row, 'value') ?? EMPTY,
      points: readNumber(row, 'score', notes),
    }))
    bins.set(name, read)
  }
  return bins
}

function fromObject(card: Readonly<Record<string, unknown>>, notes: Notes): Map<string, ToadBin[]> {
  const bins = new Map<string, ToadBin[]>()
  for (const [name, listed] of Object.entries(card)) {
    if (!isObject(listed)) {
      notes.fault(quote(name), 'must be an object of bins and their scores')
      continue
    }
    const read: ToadBin[] = []
    for (const [label, score] of Object.entries(listed)) {
      const path = `${quote(name)}[${quote(label)}]`
      const points = typeof score === 'number' && Number.isFinite(score) ? score : null
      if (points === null) notes.fault(path, 'must be a number')
      read.push({ path, label, points })
    }
    bins.set(name, read)
  }
  return bins
}

function numericFeature(name: string, listed: readonly ToadBin[], notes: Notes): SourceFeature {
  const bins: SourceBin[] = []
  for (const { path, label, points } of listed) {
    const member = numericMember(label)
    if (member === null) {
      notes.fault(
        path,
        `${quote(label)} is not an interval, but other bins of ${quote(name)} are; if its values are ` +
          'texts, name the feature in `categorical`',
      )
    }
    if (EXPONENT.test(label)) {
      notes.conversion(
        path,
        `${quote(label)} is read as an interval; toad itself can't load it from its own file`,
      )
    }
    if (member !== null && points !== null) bins.push({ path, label, points, members: [member] })
  }
  const hasEmpty = bins.some(({ members }) => members[0]?.kind === 'missing')
  return { name, type: 'numeric', bins: hasEmpty ? bins : withEmpty(name, bins, notes) }
}

function numericMember(label: string): Member | null {
  if (label === EMPTY) return { kind: 'missing' }
  const range = readInterval(label)
  return range === null ? null : { kind: 'range', range }
}

/** Adds the missing value to the bin that contains -1. */
function withEmpty(name: string, bins: readonly SourceBin[], notes: Notes): SourceBin[] {
  return bins.map((bin) => {
    const holdsEmpty = bin.members.some(
      (member) => member.kind === 'range' && holds(member.range, EMPTY_NUMBER),
    )
    if (!holdsEmpty) return bin
    notes.conversion(
      bin.path,
      `a missing value of ${quote(name)} adds the points of ${quote(bin.label)}: toad replaces it ` +
        `with ${EMPTY_NUMBER}`,
    )
    return { ...bin, members: [...bin.members, { kind: 'missing' }] }
  })
}

function textFeature(
  name: string,
  listed: readonly ToadBin[],
  options: ImportOptions,
  notes: Notes,
): SourceFeature {
  const bins: SourceBin[] = []
  for (const { path, label, points } of listed) {
    if (points === null) continue
    const texts =
      label === ELSE
        ? []
        : readJoined({ label, delimiter: ',', path, feature: name }, options, notes)
    const members = texts.map(
      (text): Member => (text === EMPTY ? { kind: 'missing' } : { kind: 'category', text }),
    )
    bins.push({ path, label, points, members: label === ELSE ? [{ kind: 'else' }] : members })
  }
  return { name, type: 'categorical', bins: withNone(name, bins, notes) }
}

/** A request's null is Python's None, which toad writes as the category `None`. */
function withNone(name: string, bins: readonly SourceBin[], notes: Notes): SourceBin[] {
  const empty = bins.find(({ members }) => members.some(({ kind }) => kind === 'missing'))
  return bins.map((bin) => {
    const holdsNone = bin.members.some(
      (member) => member.kind === 'category' && member.text === NONE,
    )
    if (!holdsNone || bin === empty) return bin
    if (empty !== undefined && empty.points !== bin.points) {
      notes.fault(
        bin.path,
        `${quote(name)} has a bin for None and one for nan with other points, but a request has one ` +
          'null for both: merge them before you fit the card, for instance with ' +
          'data.where(data.notna(), np.nan), or remove the one that no applicant will have',
      )
    }
    if (empty !== undefined) return bin
    notes.conversion(
      bin.path,
      `a missing value of ${quote(name)} adds the points of ${quote(bin.label)}, which is how toad writes Python's None`,
    )
    return { ...bin, members: [...bin.members, { kind: 'missing' }] }
  })
}

/** Notes that the file has two decimals while the scorecard that wrote it has all. */
function noteDecimals(features: readonly SourceFeature[], notes: Notes): void {
  const points = features.flatMap(({ bins }) => bins.map((bin) => bin.points))
  const areRounded = points.every((value) => readDecimal(value.toFixed(2)) === value)
  if (points.length === 0 || !areRounded || points.every(Number.isInteger)) return
  notes.conversion(
    'file',
    'the points have at most 2 decimals, because `export` of toad rounds them and `predict` does not: ' +
      'write the file with export(decimal=17) to get the same scores',
  )
}

